#include "tpsp/Runtime/Train/RunLock.h"

#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

static constexpr const char *lockFile = "run.lock";

/// "process 4711 on host a", only for messages; nothing is decided by it.
static std::string ownName() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("process {} on host {}", ::getpid(), host);
}

static std::string nameIn(const FileHandle &file) {
  char text[512] = {};
  ssize_t bytes = ::pread(file.get(), text, sizeof text - 1, 0);
  return bytes > 0 ? text : "another process";
}

static Status writeName(const FileHandle &file, const std::string &path) {
  std::string name = ownName();
  if (::ftruncate(file.get(), 0) == 0 &&
      ::pwrite(file.get(), name.data(), name.size(), 0) == ssize_t(name.size()))
    return {};
  return {TPSP_RT_INTERNAL,
          fmt::format("cannot write '{}': {}", path, std::strerror(errno))};
}

static Status makeFolder(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error)
    return {};
  return {TPSP_RT_INTERNAL,
          fmt::format("cannot make folder '{}': {}", folder, error.message())};
}

Status RunLock::take(const std::string &folder) {
  TPSP_TRY(makeFolder(folder));
  std::string path = (std::filesystem::path(folder) / lockFile).string();
  FileHandle opened(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!opened.isOpen())
    return {TPSP_RT_INTERNAL,
            fmt::format("cannot write '{}': {}", path, std::strerror(errno))};
  int code = 0;
  do
    code = ::flock(opened.get(), LOCK_EX | LOCK_NB);
  while (code != 0 && errno == EINTR);
  if (code != 0 && errno == EWOULDBLOCK)
    return invalid("{} writes to '{}'; wait until it ends, or give another "
                   "--out",
                   nameIn(opened), folder);
  if (code != 0)
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("'{}' cannot be locked ({}): no other run may write to "
                        "it meanwhile",
                        folder, std::strerror(errno))};
  TPSP_TRY(writeName(opened, path));
  file = std::move(opened);
  return {};
}
