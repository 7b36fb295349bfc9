// Reads the PEM files of a TLS endpoint.
#ifndef OSBX_TRANSPORT_CERTIFICATE_FILE_H_
#define OSBX_TRANSPORT_CERTIFICATE_FILE_H_

#include <string>

#include "base/status.h"

namespace osbx::transport {

// The whole of a regular file of at most 1 MiB; otherwise kUnreachable with the path and the reason. They are read here
// and not by OpenSSL, whose descriptors would for that moment survive an exec of the host's.
absl::StatusOr<std::string> ReadCertificateFile(const std::string& path);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_CERTIFICATE_FILE_H_
