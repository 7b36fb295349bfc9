#include "base/crypto.h"

#include <sodium.h>

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace osbx::base {
namespace {

// sodium_init() may be called by the host program as well, in any order and from any thread. Hashing and randomness
// work even where it fails, so its answer decides nothing.
void InitSodium() {
  static const int initialised = sodium_init();
  static_cast<void>(initialised);
}

}  // namespace

std::string Sha256Hex(std::string_view data) {
  InitSodium();
  uint8_t hash[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(hash, reinterpret_cast<const uint8_t*>(data.data()), data.size());
  return HexEncode(hash, sizeof(hash));
}

std::string RandomHex(size_t bytes) {
  InitSodium();
  std::string hex;
  hex.reserve(2 * bytes);
  uint8_t chunk[64];
  while (bytes > 0) {
    const size_t count = std::min(bytes, sizeof(chunk));
    randombytes_buf(chunk, count);
    hex += HexEncode(chunk, count);
    bytes -= count;
  }
  sodium_memzero(chunk, sizeof(chunk));
  return hex;
}

std::optional<std::string> Base64Decode(std::string_view text) {
  std::string bytes(text.size(), '\0');
  size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(), text.size(), nullptr,
                        &size, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0) {
    return std::nullopt;
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace osbx::base
