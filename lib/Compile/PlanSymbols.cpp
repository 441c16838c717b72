#include "PlanSymbols.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ObjectFile.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <string>

using namespace tpsp;

static constexpr llvm::StringLiteral runtimeCalls[] = {
#define TPSP_RT_CALL(NAME, COMMAND, NATURE) "tpsp_rt_" #NAME,
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL
};

/// Looks into the libraries themselves. This process has functions, such as
/// LLVM's, that a process which loads a plan lacks.
static bool isInSystemLibrary(const std::string &name) {
  // libgcc_s has f16's conversions for processors that lack them.
  constexpr const char *libraries[] = {LIBM_SO, LIBC_SO, LIBGCC_S_SO};
  return llvm::any_of(libraries, [&](const char *library) {
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (!handle)
      return false;
    bool found = dlsym(handle, name.c_str()) != nullptr;
    dlclose(handle);
    return found;
  });
}

llvm::Error tpsp::checkPlanSymbols(llvm::MemoryBufferRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file)
    return file.takeError();
  llvm::SmallVector<std::string> unknown;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    bool isUndefined = *flags & llvm::object::SymbolRef::SF_Undefined;
    if (isUndefined && !name->empty() &&
        !llvm::is_contained(runtimeCalls, *name) &&
        !isInSystemLibrary(name->str()))
      unknown.push_back("'" + name->str() + "'");
  }
  if (unknown.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      "the plan cannot be loaded: its code calls " + llvm::join(unknown, ", ") +
      ", which neither the runtime nor the C library has; the model runs "
      "without --emit, and another --dtype or --target-cpu may do without the "
      "call");
}
