find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
# For its closure of static libraries only (cmake/Install.cmake, cmake/StaticProgram.cmake); what else is built here links
# the CMake targets.
pkg_check_modules(ABSL REQUIRED absl_status absl_statusor)
if(OSBX_PROGRAM_ONLY)
  # Nothing but archives: the layers' libraries are the program's.
  foreach(target absl::cord absl::status absl::statusor PkgConfig::SODIUM PkgConfig::CJSON)
    add_library(${target} INTERFACE IMPORTED)
    target_link_libraries(${target} INTERFACE osbx_static_libraries)
  endforeach()
else()
  find_package(CURL 7.88 REQUIRED)
  find_package(OpenSSL REQUIRED)
  pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
  pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
  find_package(absl REQUIRED)
endif()
