// Header fields of an HTTP message, in their order.
#ifndef OSBX_HTTP_HEADERS_H_
#define OSBX_HTTP_HEADERS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osbx::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// ASCII letters only, whatever the locale.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// Value of the first header of that name, compared without case; empty when there is none.
std::string_view FindHeader(const Headers& headers, std::string_view name);

}  // namespace osbx::http

#endif  // OSBX_HTTP_HEADERS_H_
