// Hashes and randomness, from libsodium.
#ifndef OSBX_BASE_CRYPTO_H_
#define OSBX_BASE_CRYPTO_H_

#include <optional>
#include <string>
#include <string_view>

namespace osbx::base {

// 64 lower-case hex digits.
std::string Sha256Hex(std::string_view data);
// `bytes` random bytes as lower-case hex digits; cryptographically strong.
std::string RandomHex(size_t bytes);

// RFC 4648 base64 with padding; nothing for any other text.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace osbx::base

#endif  // OSBX_BASE_CRYPTO_H_
