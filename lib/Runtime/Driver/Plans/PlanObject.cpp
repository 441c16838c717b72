#include "PlanObject.h"

#include "tpsp/Runtime/Driver/Plans/PlanFile.h"

#include <fmt/format.h>

#include <cstring>
#include <elf.h>
#include <map>
#include <vector>

namespace tpsp::rt {
namespace {

#if defined(__x86_64__)
constexpr unsigned machine = EM_X86_64;
constexpr unsigned relative = R_X86_64_RELATIVE;
/// The relocations that a plan may have. Each writes an address of eight bytes.
constexpr unsigned relocations[] = {R_X86_64_RELATIVE, R_X86_64_64,
                                    R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT};
#elif defined(__aarch64__)
constexpr unsigned machine = EM_AARCH64;
constexpr unsigned relative = R_AARCH64_RELATIVE;
constexpr unsigned relocations[] = {R_AARCH64_RELATIVE, R_AARCH64_ABS64,
                                    R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT};
#else
#error "say which relocations plans of this machine have"
#endif

/// Segments end below this address, so that no sum of addresses overflows.
constexpr uint64_t addressLimit = uint64_t(1) << 40;

/// Allowed entries of the dynamic table, with names for messages.
const std::map<int64_t, const char *> allowedEntries = {
    {DT_HASH, "HASH"},       {DT_GNU_HASH, "GNU_HASH"},
    {DT_STRTAB, "STRTAB"},   {DT_STRSZ, "STRSZ"},
    {DT_SYMTAB, "SYMTAB"},   {DT_SYMENT, "SYMENT"},
    {DT_RELA, "RELA"},       {DT_RELASZ, "RELASZ"},
    {DT_RELAENT, "RELAENT"}, {DT_RELACOUNT, "RELACOUNT"},
    {DT_JMPREL, "JMPREL"},   {DT_PLTRELSZ, "PLTRELSZ"},
    {DT_PLTREL, "PLTREL"},   {DT_PLTGOT, "PLTGOT"},
    {DT_FLAGS, "FLAGS"},     {DT_FLAGS_1, "FLAGS_1"},
};

/// Refused entries of the dynamic table, with their effects.
const std::map<int64_t, const char *> refusedEntries = {
    {DT_NEEDED, "it asks for another library"},
    {DT_AUXILIARY, "it asks for another library"},
    {DT_FILTER, "it asks for another library"},
    {DT_AUDIT, "it asks for another library"},
    {DT_DEPAUDIT, "it asks for another library"},
    {DT_RPATH, "it names a folder of libraries"},
    {DT_RUNPATH, "it names a folder of libraries"},
    {DT_INIT, "it runs code when it is loaded"},
    {DT_INIT_ARRAY, "it runs code when it is loaded"},
    {DT_PREINIT_ARRAY, "it runs code when it is loaded"},
    {DT_FINI, "it runs code when it is unloaded"},
    {DT_FINI_ARRAY, "it runs code when it is unloaded"},
    {DT_TEXTREL, "its code is to be written to"},
};

/// Reads the object's tables. Every method returns true, or sets `problem` to
/// what is wrong.
class ObjectCheck {
public:
  explicit ObjectCheck(std::string_view bytes) : bytes(bytes) {}

  bool run() {
    return checkHeader() && checkSegments() && readDynamic() &&
           checkStrings() && checkSymbols() && checkGnuHash() &&
           checkRelocations(DT_RELA, DT_RELASZ) &&
           checkRelocations(DT_JMPREL, DT_PLTRELSZ) && checkCounts() &&
           checkExport();
  }

  std::string problem;

private:
  bool refuse(std::string why) {
    problem = std::move(why);
    return false;
  }

  template <typename T> T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
  bool holds(uint64_t offset, uint64_t size) const {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  }

  bool checkHeader();
  bool checkSegments();
  bool checkLoad(const Elf64_Phdr &segment);
  bool checkDynamicSegment();
  bool readDynamic();
  bool checkStrings();
  bool checkSymbols();
  bool checkSymbol(const Elf64_Sym &symbol);
  bool checkGnuHash();
  bool checkRelocations(int64_t table, int64_t size);
  bool checkRelocation(const Elf64_Rela &relocation);
  bool checkCounts();
  bool checkExport();

  /// The segment that contains these bytes of memory; null if there is none.
  const Elf64_Phdr *segmentOf(uint64_t address, uint64_t size) const {
    for (const Elf64_Phdr &load : loads)
      if (address >= load.p_vaddr && size <= load.p_memsz &&
          address - load.p_vaddr <= load.p_memsz - size)
        return &load;
    return nullptr;
  }
  /// Finds the position of these bytes of memory in the file, if it has all of
  /// them.
  bool locate(uint64_t address, uint64_t size, uint64_t &offset) const {
    const Elf64_Phdr *load = segmentOf(address, size);
    if (!load || address - load->p_vaddr > load->p_filesz ||
        size > load->p_filesz - (address - load->p_vaddr))
      return false;
    offset = load->p_offset + (address - load->p_vaddr);
    return true;
  }
  bool has(int64_t tag) const { return entries.count(tag); }
  uint64_t entry(int64_t tag) const {
    auto found = entries.find(tag);
    return found == entries.end() ? 0 : found->second;
  }
  /// Finds the table at entry `tag`, of `size` bytes, which must not be
  /// writable.
  bool locateTable(int64_t tag, uint64_t size, uint64_t &offset) {
    if (has(tag) && locate(entry(tag), size, offset) &&
        !(segmentOf(entry(tag), size)->p_flags & PF_W))
      return true;
    return refuse(
        fmt::format("its table {} is not in it", allowedEntries.at(tag)));
  }
  std::string_view nameOf(const Elf64_Sym &symbol) const {
    return bytes.data() + strings + symbol.st_name;
  }

  std::string_view bytes;
  std::vector<Elf64_Phdr> loads;
  Elf64_Phdr dynamic = {};
  std::map<int64_t, uint64_t> entries;
  /// Offsets of tables in the file.
  uint64_t strings = 0, symbols = 0;
  uint64_t numSymbols = 0;
};

bool ObjectCheck::checkHeader() {
  if (bytes.size() < sizeof(Elf64_Ehdr))
    return refuse("it is too short to be one");
  auto header = at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT ||
      header.e_ident[EI_ABIVERSION] != 0 || header.e_type != ET_DYN ||
      header.e_version != EV_CURRENT)
    return refuse("it is no shared object of 64 bits");
  if (header.e_ident[EI_OSABI] != ELFOSABI_SYSV)
    return refuse("it uses extensions of a system's linker");
  if (header.e_machine != machine)
    return refuse(fmt::format("it is for machine {}, and this is {}",
                              header.e_machine, machine));
  if (header.e_ehsize != sizeof(Elf64_Ehdr) ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > 64 || header.e_phoff % alignof(Elf64_Phdr) != 0 ||
      !holds(header.e_phoff, uint64_t(header.e_phnum) * sizeof(Elf64_Phdr)))
    return refuse("its table of segments is not in it");
  return true;
}

/// Checks that segments are readable and in the file, and follow one another as
/// the linker maps them.
bool ObjectCheck::checkLoad(const Elf64_Phdr &segment) {
  uint64_t align = segment.p_align;
  bool isAligned = align >= 4096 && align <= (1 << 21) &&
                   (align & (align - 1)) == 0 &&
                   segment.p_vaddr % align == segment.p_offset % align;
  uint64_t behind =
      loads.empty() ? 0 : loads.back().p_vaddr + loads.back().p_memsz;
  if (!isAligned || segment.p_memsz == 0 ||
      segment.p_filesz > segment.p_memsz || segment.p_vaddr < behind ||
      segment.p_vaddr >= addressLimit ||
      segment.p_memsz > addressLimit - segment.p_vaddr ||
      !holds(segment.p_offset, segment.p_filesz))
    return refuse("a segment is not in it");
  if (loads.empty() && segment.p_vaddr != 0)
    return refuse("its first segment is not its beginning");
  if (!(segment.p_flags & PF_R) ||
      ((segment.p_flags & PF_W) && (segment.p_flags & PF_X)))
    return refuse("a segment is both writable and executable, or unreadable");
  loads.push_back(segment);
  return true;
}

bool ObjectCheck::checkSegments() {
  auto header = at<Elf64_Ehdr>(0);
  std::vector<Elf64_Phdr> relro, tables;
  bool hasStack = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    auto segment = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD) {
      if (!checkLoad(segment))
        return false;
    } else if (segment.p_type == PT_DYNAMIC && dynamic.p_type != PT_DYNAMIC) {
      dynamic = segment;
    } else if (segment.p_type == PT_GNU_STACK) {
      hasStack = !(segment.p_flags & PF_X);
      if (!hasStack)
        return refuse("it asks for an executable stack");
    } else if (segment.p_type == PT_GNU_RELRO) {
      relro.push_back(segment);
    } else if (segment.p_type == PT_PHDR || segment.p_type == PT_GNU_EH_FRAME) {
      tables.push_back(segment);
    } else if (segment.p_type != PT_NULL) {
      return refuse(fmt::format("it has a segment of type {:#x}, which no plan "
                                "has",
                                segment.p_type));
    }
  }
  // If the object does not say, the stack is made executable.
  if (!hasStack)
    return refuse("it does not say that its stack is not executable");
  for (const Elf64_Phdr &segment : relro) {
    const Elf64_Phdr *load = segmentOf(segment.p_vaddr, segment.p_memsz);
    if (!load || !(load->p_flags & PF_W))
      return refuse("what is to be made constant is not its data");
  }
  // The loader and the unwinder read them in memory.
  for (const Elf64_Phdr &table : tables) {
    uint64_t offset = 0;
    if (!locate(table.p_vaddr, table.p_memsz, offset) ||
        offset != table.p_offset)
      return refuse("a table of its segments is not in it");
  }
  return checkDynamicSegment();
}

bool ObjectCheck::checkDynamicSegment() {
  uint64_t offset = 0;
  bool isThere = dynamic.p_type == PT_DYNAMIC &&
                 dynamic.p_vaddr % alignof(Elf64_Dyn) == 0 &&
                 locate(dynamic.p_vaddr, dynamic.p_memsz, offset);
  // The linker writes the addresses of the tables into it.
  if (!isThere || offset != dynamic.p_offset ||
      !(segmentOf(dynamic.p_vaddr, dynamic.p_memsz)->p_flags & PF_W))
    return refuse("its dynamic table is not in its data");
  return true;
}

bool ObjectCheck::readDynamic() {
  for (uint64_t i = 0; i < dynamic.p_memsz / sizeof(Elf64_Dyn); ++i) {
    auto each = at<Elf64_Dyn>(dynamic.p_offset + i * sizeof(Elf64_Dyn));
    if (each.d_tag == DT_NULL)
      return true;
    if (auto found = refusedEntries.find(each.d_tag);
        found != refusedEntries.end())
      return refuse(found->second);
    if (!allowedEntries.count(each.d_tag))
      return refuse(fmt::format("its dynamic table has an entry {:#x}, which "
                                "no plan has",
                                each.d_tag));
    if (!entries.emplace(each.d_tag, each.d_un.d_val).second)
      return refuse("its dynamic table has an entry twice");
  }
  return refuse("its dynamic table has no end");
}

bool ObjectCheck::checkStrings() {
  uint64_t size = entry(DT_STRSZ);
  if (!locateTable(DT_STRTAB, size, strings))
    return false;
  if (size == 0 || bytes[strings + size - 1] != 0)
    return refuse("its table of names has no end");
  if (entry(DT_FLAGS) & ~uint64_t(DF_BIND_NOW))
    return refuse(fmt::format("its flags are {:#x}", entry(DT_FLAGS)));
  if (entry(DT_FLAGS_1) & ~uint64_t(DF_1_NOW))
    return refuse(fmt::format("its other flags are {:#x}", entry(DT_FLAGS_1)));
  // Otherwise names would be looked up, and their addresses written, while the
  // plan runs.
  if (!(entry(DT_FLAGS) & DF_BIND_NOW))
    return refuse("its names are not looked up before it runs");
  return true;
}

bool ObjectCheck::checkSymbols() {
  // The older hash table has the number of symbols.
  uint64_t hash = 0;
  if (!locateTable(DT_HASH, 2 * sizeof(uint32_t), hash))
    return false;
  numSymbols = at<uint32_t>(hash + sizeof(uint32_t));
  if (entry(DT_SYMENT) != sizeof(Elf64_Sym))
    return refuse("its symbols are of another size");
  if (!locateTable(DT_SYMTAB, numSymbols * sizeof(Elf64_Sym), symbols))
    return false;
  for (uint64_t i = 0; i < numSymbols; ++i)
    if (!checkSymbol(at<Elf64_Sym>(symbols + i * sizeof(Elf64_Sym))))
      return false;
  return true;
}

bool ObjectCheck::checkSymbol(const Elf64_Sym &symbol) {
  if (symbol.st_name >= entry(DT_STRSZ))
    return refuse("a symbol's name is not in it");
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  // The linker calls an indirect function when it looks up its name.
  if (type != STT_NOTYPE && type != STT_FUNC && type != STT_OBJECT)
    return refuse(fmt::format("its symbol {} is of type {}, which no plan has",
                              nameOf(symbol), type));
  if (symbol.st_shndx != SHN_UNDEF &&
      !segmentOf(symbol.st_value, symbol.st_size))
    return refuse(fmt::format("its symbol {} is not in it", nameOf(symbol)));
  return true;
}

/// The table by which names are found. It has [buckets, first symbol, words of
/// the filter, shift], the filter, the buckets, and a chain of hashes for each
/// bucket.
bool ObjectCheck::checkGnuHash() {
  uint64_t table = 0;
  if (!locateTable(DT_GNU_HASH, 4 * sizeof(uint32_t), table))
    return false;
  auto word = [&](uint64_t i) {
    return at<uint32_t>(table + i * sizeof(uint32_t));
  };
  uint64_t buckets = word(0), first = word(1), filter = word(2);
  if (buckets == 0 || filter == 0 || (filter & (filter - 1)) != 0 ||
      first > numSymbols || word(3) >= 64)
    return refuse("its table GNU_HASH contradicts itself");
  uint64_t firstBucket = 4 + 2 * filter, chains = firstBucket + buckets;
  uint64_t words = chains + (numSymbols - first);
  if (!locateTable(DT_GNU_HASH, words * sizeof(uint32_t), table))
    return false;
  for (uint64_t i = 0; i < buckets; ++i) {
    uint32_t begin = word(firstBucket + i);
    if (begin != 0 && (begin < first || begin >= numSymbols))
      return refuse("its table GNU_HASH contradicts itself");
  }
  // The last hash of a chain is odd.
  if (numSymbols > first && !(word(words - 1) & 1))
    return refuse("its table GNU_HASH has no end");
  return true;
}

bool ObjectCheck::checkRelocations(int64_t table, int64_t size) {
  if (!has(table) && !has(size))
    return true;
  uint64_t length = entry(size), offset = 0;
  if (length % sizeof(Elf64_Rela) != 0)
    return refuse("its relocations are of another size");
  if (!locateTable(table, length, offset))
    return false;
  for (uint64_t i = 0; i < length / sizeof(Elf64_Rela); ++i) {
    auto relocation = at<Elf64_Rela>(offset + i * sizeof(Elf64_Rela));
    if (!checkRelocation(relocation))
      return false;
    // The linker does not check the type of the first DT_RELACOUNT relocations.
    if (table == DT_RELA && i < entry(DT_RELACOUNT) &&
        ELF64_R_TYPE(relocation.r_info) != relative)
      return refuse("its relocations are not in order");
  }
  return true;
}

bool ObjectCheck::checkRelocation(const Elf64_Rela &relocation) {
  bool isAllowed = false;
  for (unsigned type : relocations)
    isAllowed |= ELF64_R_TYPE(relocation.r_info) == type;
  if (!isAllowed)
    return refuse(fmt::format("it has a relocation of type {}, which no plan "
                              "has",
                              ELF64_R_TYPE(relocation.r_info)));
  if (ELF64_R_SYM(relocation.r_info) >= numSymbols)
    return refuse("a relocation's symbol is not in it");
  const Elf64_Phdr *load = segmentOf(relocation.r_offset, sizeof(uint64_t));
  if (!load || !(load->p_flags & PF_W) ||
      relocation.r_offset % sizeof(uint64_t) != 0)
    return refuse("a relocation is not of its data");
  // A relocation must not write to the dynamic table either, which the linker
  // reads while it relocates.
  if (relocation.r_offset + sizeof(uint64_t) > dynamic.p_vaddr &&
      relocation.r_offset < dynamic.p_vaddr + dynamic.p_memsz)
    return refuse("a relocation is of its dynamic table");
  return true;
}

bool ObjectCheck::checkCounts() {
  if (has(DT_RELA) && entry(DT_RELAENT) != sizeof(Elf64_Rela))
    return refuse("its relocations are of another size");
  if (entry(DT_RELACOUNT) * sizeof(Elf64_Rela) > entry(DT_RELASZ) ||
      entry(DT_RELACOUNT) > bytes.size())
    return refuse("it has fewer relocations than it says");
  if (has(DT_JMPREL) && entry(DT_PLTREL) != DT_RELA)
    return refuse("its calls are bound in another way");
  // The linker writes three words to this table.
  const Elf64_Phdr *load = segmentOf(entry(DT_PLTGOT), 3 * sizeof(uint64_t));
  if (has(DT_PLTGOT) && (!load || !(load->p_flags & PF_W)))
    return refuse("its table PLTGOT is not in its data");
  return true;
}

bool ObjectCheck::checkExport() {
  for (uint64_t i = 0; i < numSymbols; ++i) {
    auto symbol = at<Elf64_Sym>(symbols + i * sizeof(Elf64_Sym));
    if (symbol.st_shndx == SHN_UNDEF || nameOf(symbol) != stepSymbol)
      continue;
    const Elf64_Phdr *load = segmentOf(symbol.st_value, 1);
    if (load && (load->p_flags & PF_X))
      return true;
  }
  return refuse(fmt::format("it does not export {}", stepSymbol));
}

} // namespace

Status checkPlanObject(std::string_view object) {
  ObjectCheck check(object);
  if (check.run())
    return {};
  return {TPSP_RT_INVALID,
          "its shared object is not as tpsp-run --emit writes them: " +
              check.problem};
}

} // namespace tpsp::rt
