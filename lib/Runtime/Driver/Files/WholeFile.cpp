#include "tpsp/Runtime/Driver/Files/WholeFile.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace tpsp;
using namespace tpsp::rt;

static Status cannotWrite(const std::string &path, int error) {
  return {TPSP_RT_INTERNAL,
          fmt::format("cannot write '{}': {}", path, std::strerror(error))};
}

Status WholeFile::failure(int error) const { return cannotWrite(path, error); }

WholeFile::~WholeFile() {
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

static std::string temporaryFor(const std::string &place, int64_t number) {
  return fmt::format("{}.{}.tmp", place, number);
}

int64_t WholeFile::number() { return ::getpid(); }

Status WholeFile::join(const std::string &given, int64_t number) {
  path = given;
  std::error_code none;
  std::filesystem::path target = std::filesystem::canonical(given, none);
  place = none ? given : target.string();
  file = FileHandle(::open(temporaryFor(place, number).c_str(),
                           O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  return file.isOpen() ? Status() : failure(errno);
}

Status WholeFile::create(const std::string &given) {
  path = given;
  // A symbolic link is kept. Something that is not a regular file, such as a
  // device, must not be replaced.
  std::error_code none;
  std::filesystem::path target = std::filesystem::canonical(given, none);
  if (!none && std::filesystem::is_directory(target))
    return failure(EISDIR);
  if (!none && !std::filesystem::is_regular_file(target))
    return invalid("cannot write '{}': it is not a regular file", path);
  place = none ? given : target.string();
  std::string beside = temporaryFor(place, number());
  file = FileHandle(
      ::open(beside.c_str(),
             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file.isOpen())
    return failure(errno);
  temporary = beside;
  return {};
}

Status WholeFile::write(int64_t offset, const void *source, int64_t bytes) {
  auto *from = static_cast<const char *>(source);
  while (bytes > 0) {
    ssize_t done = ::pwrite(file.get(), from, bytes, offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return failure(done < 0 ? errno : ENOSPC);
    from += done;
    offset += done;
    bytes -= done;
  }
  return {};
}

Status WholeFile::finish() {
  // Some file systems report only here that they are full.
  if (::fsync(file.get()) != 0 && errno != EINVAL)
    return failure(errno);
  if (::close(file.release()) != 0)
    return failure(errno);
  if (temporary.empty())
    return {};
  if (::rename(temporary.c_str(), place.c_str()) != 0)
    return failure(errno);
  temporary.clear();
  return {};
}

/// Writes to a device or a pipe, which has no offsets. Does not wait for
/// somebody who reads the pipe.
static Status writeStream(const std::string &path, const std::string &text) {
  FileHandle file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.isOpen() && errno == ENXIO)
    return invalid("cannot write '{}': it is a pipe that nobody reads", path);
  if (!file.isOpen() ||
      ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK))
    return cannotWrite(path, errno);
  for (size_t done = 0; done < text.size();) {
    ssize_t more = ::write(file.get(), text.data() + done, text.size() - done);
    if (more < 0 && errno == EINTR)
      continue;
    if (more <= 0)
      return cannotWrite(path, more < 0 ? errno : ENOSPC);
    done += more;
  }
  return {};
}

Status tpsp::rt::writeText(const std::string &path, const std::string &text) {
  std::error_code none;
  std::filesystem::file_status status = std::filesystem::status(path, none);
  if (std::filesystem::is_other(status))
    return writeStream(path, text);
  WholeFile file;
  TPSP_TRY(file.create(path));
  TPSP_TRY(file.write(0, text.data(), text.size()));
  return file.finish();
}
