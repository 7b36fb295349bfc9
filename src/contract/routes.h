// Which handler a request belongs to.
#ifndef OSBX_CONTRACT_ROUTES_H_
#define OSBX_CONTRACT_ROUTES_H_

#include <memory>
#include <utility>

#include "contract/execute_handler.h"
#include "contract/files_handler.h"
#include "http/exchange.h"

namespace osbx::contract {

// Loop thread only.
class Routes {
 public:
  Routes(ExecuteHandler& execute, std::shared_ptr<FilesContext> files) : execute_(execute), files_(std::move(files)) {}

  void Handle(std::shared_ptr<http::Exchange> exchange);

 private:
  ExecuteHandler& execute_;
  const std::shared_ptr<FilesContext> files_;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_ROUTES_H_
