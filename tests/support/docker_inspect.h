// A view of the daemon that does not go through the library: what tests compare its deeds with.
#ifndef OSBX_TESTS_SUPPORT_DOCKER_INSPECT_H_
#define OSBX_TESTS_SUPPORT_DOCKER_INSPECT_H_

#include <cstdint>
#include <memory>
#include <string>

struct cJSON;

namespace osbx::test {

// JSON of the daemon, read by path: "HostConfig.LogConfig.Type". What is not there is an empty value, never a crash.
class Document {
 public:
  explicit Document(const std::string& json);

  bool valid() const { return root_ != nullptr; }
  bool Has(const std::string& path) const { return Find(path) != nullptr; }
  std::string Text(const std::string& path) const;
  // -1 when there is no such number.
  int64_t Number(const std::string& path) const;
  bool True(const std::string& path) const;
  // The value as compact JSON; "" when there is none.
  std::string Json(const std::string& path) const;
  // A member of the object at `path`, by a key that may hold dots.
  std::string Member(const std::string& path, const std::string& key) const;
  // Elements of the array or object at `path`; 0 when there is none.
  int Size(const std::string& path) const;

 private:
  const cJSON* Find(const std::string& path) const;

  std::shared_ptr<cJSON> root_;
};

struct Answer {
  long status = 0;  // 0: no answer at all
  std::string body;
};

// One request to the daemon at DOCKER_HOST: Ask("POST", "/containers/ID/pause").
Answer Ask(const std::string& method, const std::string& path, const std::string& json_body = "");

// A name or an id.
Document InspectContainer(const std::string& container);
bool ContainerExists(const std::string& container);
// How many containers, running or not, have `part` in their name.
int CountContainersNamed(const std::string& part);

// The name that the container of a sandbox must have.
std::string ExpectedContainerName(const std::string& sandbox_name);

// Lines of a control file of the container's cgroup on this host, under version 1 or 2; "" when there is none.
std::string HostCgroupValue(const std::string& container_id, const std::string& v1_controller,
                            const std::string& v1_file, const std::string& v2_file);

}  // namespace osbx::test

#endif  // OSBX_TESTS_SUPPORT_DOCKER_INSPECT_H_
