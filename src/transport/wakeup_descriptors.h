// The two descriptors behind curl_multi_wakeup(), made to close on exec.
#ifndef OSBX_TRANSPORT_WAKEUP_DESCRIPTORS_H_
#define OSBX_TRANSPORT_WAKEUP_DESCRIPTORS_H_

#include <curl/curl.h>

namespace osbx::transport {

// Where the search below begins: taken just before curl_multi_init(). -1 when there is none.
int LowestFreeDescriptor();

// libcurl 7.88 makes a socket pair without FD_CLOEXEC for every multi handle and has no call that tells which. They
// would show up in every program that the host starts. The pair is found by what only it can do: a wakeup puts a byte
// into one of its ends, and what is sent from that end arrives at the other. Call before the multi is used. Does
// nothing where libcurl sets the flag itself or wakes up by other means.
void CloseWakeupDescriptorsOnExec(CURLM* multi, int lowest_free);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_WAKEUP_DESCRIPTORS_H_
