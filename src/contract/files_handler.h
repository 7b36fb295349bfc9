// /files/{path}: whole files of the workspace over HTTP.
#ifndef OSBX_CONTRACT_FILES_HANDLER_H_
#define OSBX_CONTRACT_FILES_HANDLER_H_

#include <cstddef>
#include <memory>

#include "contract/pool_work.h"
#include "contract/unsent_answers.h"
#include "contract/workspace.h"
#include "http/exchange.h"

namespace osbx::contract {

struct FilesContext {
  FilesContext(Workspace served, const Workers& its_workers, std::shared_ptr<UnsentAnswers> answers)
      : workspace(std::move(served)), workers(its_workers), unsent(std::move(answers)) {}

  const Workspace workspace;
  const Workers workers;
  const std::shared_ptr<UnsentAnswers> unsent;  // loop thread only, as what follows
  size_t downloads = 0;                         // under way; loop thread only
};

// The answer to a failed operation on `path`.
http::Answer FilesError(const absl::Status& error, const WorkspacePath& path);

// Answers one request, whose target begins with /files. On the loop's thread, which no file system ever holds up.
void HandleFiles(const std::shared_ptr<FilesContext>& context, std::shared_ptr<http::Exchange> exchange);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_FILES_HANDLER_H_
