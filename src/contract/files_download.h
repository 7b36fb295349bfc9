// GET and HEAD of /files/{path}.
#ifndef OSBX_CONTRACT_FILES_DOWNLOAD_H_
#define OSBX_CONTRACT_FILES_DOWNLOAD_H_

#include <memory>

#include "contract/files_handler.h"

namespace osbx::contract {

void SendFileOrListing(const std::shared_ptr<FilesContext>& context, std::shared_ptr<http::Exchange> exchange,
                       WorkspacePath path);

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_FILES_DOWNLOAD_H_
