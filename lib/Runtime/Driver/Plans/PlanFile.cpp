#include "tpsp/Runtime/Driver/Plans/PlanFile.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <dlfcn.h>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

/// Raised whenever the description or the trailer changes.
constexpr uint32_t formatVersion = 12;

constexpr char magic[8] = {'t', 'p', 's', 'p', 'p', 'l', 'a', 'n'};

/// The last bytes of the file, little endian.
struct Trailer {
  uint64_t objectBytes = 0, descriptionBytes = 0;
  /// XXH3 of all bytes before the trailer.
  uint64_t hash = 0;
  uint32_t format = formatVersion;
  uint32_t abi = TPSP_RT_ABI_VERSION;
  char name[8] = {};
};
static_assert(sizeof(Trailer) == 40, "it is the file's layout");

Status invalid(const std::string &path, const std::string &why) {
  return {TPSP_RT_INVALID, fmt::format("cannot run '{}': {}", path, why)};
}

/// Reads the whole file, or says why it cannot be read.
Status readAll(const std::string &path, std::string &out) {
  FileHandle file;
  int64_t bytes = 0;
  Status status = openToRead(path, file, bytes);
  out.resize(bytes);
  if (status.ok())
    status = readAt(file, 0, bytes, out.data());
  return status.ok() ? status : invalid(path, status.message());
}

/// Whether this processor can run code for `processor`.
bool isSupported(const std::string &processor) {
  if (processor.empty())
    return true;
#if defined(__x86_64__)
  if (processor == "x86-64")
    return true;
  if (processor == "x86-64-v2")
    return __builtin_cpu_supports("x86-64-v2");
  if (processor == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3");
  if (processor == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4");
#endif
  return false;
}

/// Reads the trailer and checks that it fits the file.
Status checkFile(const std::string &path, const std::string &bytes,
                 Trailer &trailer) {
  if (bytes.size() < sizeof trailer)
    return invalid(path, "it is no compiled plan (tpsp-run MODEL.mlir --emit "
                         "PLAN.so makes one)");
  std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof trailer,
              sizeof trailer);
  if (std::memcmp(trailer.name, magic, sizeof magic) != 0)
    return invalid(path, "it does not end as a compiled plan does: it was cut "
                         "short, or tpsp-run --emit did not make it");
  uint64_t rest = bytes.size() - sizeof trailer;
  if (trailer.objectBytes > rest ||
      trailer.descriptionBytes != rest - trailer.objectBytes ||
      XXH3_64bits(bytes.data(), rest) != trailer.hash)
    return invalid(path, "its bytes are not those that were written: it was "
                         "damaged; copy or compile it again");
  if (trailer.abi != TPSP_RT_ABI_VERSION || trailer.format != formatVersion)
    return invalid(
        path, fmt::format("it was made for version {}.{} of the runtime's "
                          "interface, and this tpsp-run has {}.{}; compile the "
                          "model again with this one",
                          trailer.abi, trailer.format, TPSP_RT_ABI_VERSION,
                          formatVersion));
  return {};
}

} // namespace

bool tpsp::rt::looksLikePlan(const std::string &path) {
  constexpr char elf[4] = {0x7f, 'E', 'L', 'F'};
  char begin[sizeof elf] = {};
  FileHandle file;
  int64_t bytes = 0;
  return openToRead(path, file, bytes).ok() && bytes >= int64_t(sizeof elf) &&
         readAt(file, 0, sizeof elf, begin).ok() &&
         std::memcmp(begin, elf, sizeof elf) == 0;
}

Status tpsp::rt::writePlan(const std::string &path, const std::string &object,
                           const PlanDescription &description) {
  Trailer trailer;
  std::string bytes = object + toJson(description);
  trailer.objectBytes = object.size();
  trailer.descriptionBytes = bytes.size() - object.size();
  trailer.hash = XXH3_64bits(bytes.data(), bytes.size());
  std::memcpy(trailer.name, magic, sizeof magic);
  bytes.append(reinterpret_cast<const char *>(&trailer), sizeof trailer);
  WholeFile file;
  TPSP_TRY(file.create(path));
  TPSP_TRY(file.write(0, bytes.data(), bytes.size()));
  return file.finish();
}

/// Reads a file and checks that it is a complete plan.
static Status readChecked(const std::string &path, std::string &bytes,
                          Trailer &trailer) {
  TPSP_TRY(readAll(path, bytes));
  return checkFile(path, bytes, trailer);
}

Status tpsp::rt::readPlan(const std::string &path, PlanDescription &out) {
  std::string bytes;
  Trailer trailer;
  TPSP_TRY(readChecked(path, bytes, trailer));
  if (Status s = fromJson(
          bytes.substr(trailer.objectBytes, trailer.descriptionBytes), out);
      !s.ok())
    return invalid(path, s.message());
  if (!isSupported(out.processor))
    return invalid(path,
                   fmt::format("its code needs a processor of level {}, which "
                               "this one is not; compile the model again with "
                               "--target-cpu x86-64-v2, or on this machine",
                               out.processor));
  return {};
}

Status tpsp::rt::loadPlan(const std::string &path, StepFunction &out) {
  std::string bytes;
  Trailer trailer;
  TPSP_TRY(readChecked(path, bytes, trailer));
  // dlopen would search the system's folders for a name without a slash.
  std::string place = std::filesystem::absolute(path).string();
  void *object = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object)
    return invalid(path, dlerror());
  out = reinterpret_cast<StepFunction>(dlsym(object, stepSymbol));
  if (!out)
    return invalid(path, fmt::format("it does not export {}", stepSymbol));
  return {};
}
