// How sandboxes are made and kept.
#ifndef OSBX_CORE_BACKEND_H_
#define OSBX_CORE_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "core/sandbox.h"
#include "core/spec.h"

namespace osbx::core {

class Backend {
 public:
  virtual ~Backend() = default;

  // A running sandbox of that name: made if absent, started if stopped. `options` apply only when it is made.
  virtual absl::StatusOr<std::shared_ptr<Sandbox>> Create(const std::string& name, const SpecBuilder& spec,
                                                          const base::Context& context) = 0;
  virtual absl::StatusOr<std::shared_ptr<Sandbox>> Open(const std::string& name, const base::Context& context) = 0;
  virtual absl::StatusOr<std::vector<Info>> List(const base::Context& context) = 0;
  virtual absl::Status Destroy(const std::string& name, const base::Context& context) = 0;
};

}  // namespace osbx::core

#endif  // OSBX_CORE_BACKEND_H_
