// What a client of the contract is told when something fails: a status and one line of JSON.
#ifndef OSBX_CONTRACT_ERROR_ANSWER_H_
#define OSBX_CONTRACT_ERROR_ANSWER_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "http/exchange.h"

namespace osbx::contract {

// {"error": what}; `what` is made one printable line.
http::Answer ErrorAnswer(int status, std::string_view what);
// The HTTP status that the error carries; where it carries none, 500.
http::Answer ErrorAnswer(const absl::Status& error);

// 405; `allowed` as the Allow header has it.
http::Answer MethodNotAllowed(const std::string& allowed);

// A failure that carries the HTTP status to answer it with.
absl::Status Refusal(int status, std::string_view what);
// A failed system call on a file of the workspace; `error` is its errno.
absl::Status FileError(int error);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_ERROR_ANSWER_H_
