// The head of an answer, as it goes over the wire.
#ifndef OSBX_HTTP_ANSWER_HEAD_H_
#define OSBX_HTTP_ANSWER_HEAD_H_

#include <cstdint>
#include <string>

#include "http/headers.h"

namespace osbx::http {

enum class ConnectionField { kNone, kClose, kKeepAlive };

// Whether an answer with that status has no body and no Content-Length.
bool IsBodyless(int status);

// Fields that frame the message or speak of the connection are the server's own and dropped from `headers`, and so is a
// field that would break out of its line.
std::string AnswerHead(int status, const Headers& headers, uint64_t content_length, ConnectionField connection);

}  // namespace osbx::http

#endif  // OSBX_HTTP_ANSWER_HEAD_H_
