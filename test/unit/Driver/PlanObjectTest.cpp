// Checks of a plan's shared object before the dynamic linker loads it.
#include "Runtime/Driver/Plans/PlanObject.h"

#include "TestFiles.h"

#include "tpsp/Runtime/Driver/Plans/PlanFile.h"

#include <gmock/gmock.h>

#include <cstring>
#include <elf.h>
#include <random>

using namespace tpsp;
using namespace tpsp::rt;
using testing::HasSubstr;

namespace {

class PlanObject : public TestFiles {
protected:
  /// Returns one of the objects that CMakeLists.txt makes of plan-object.c.
  static std::string object(const std::string &variant) {
    std::ifstream file(std::string(TPSP_PLAN_OBJECTS) + "/plan-object-" +
                           variant + ".so",
                       std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string problem(const std::string &bytes) {
    return checkPlanObject(bytes).message();
  }
  /// Returns why a plan of this object is not loaded; "" if it is. Each call
  /// writes a new file, because the linker would recognise an old one.
  std::string loadingProblem(const std::string &bytes) {
    std::string name = path("plan" + std::to_string(++files) + ".so");
    if (Status s = writePlan(name, bytes, {}); !s.ok())
      return "not written: " + s.message();
    StepFunction step = nullptr;
    Status status = loadPlan(name, step);
    EXPECT_EQ(status.ok(), step != nullptr);
    std::filesystem::remove(name);
    return status.message();
  }

  int files = 0;
};

template <typename T> T at(const std::string &bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
void put(std::string &bytes, size_t offset, const T &value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// Returns the file offset of the entry `tag` of the dynamic table.
size_t dynamicEntry(const std::string &bytes, int64_t tag) {
  auto header = at<Elf64_Ehdr>(bytes, 0);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    auto segment =
        at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_DYNAMIC)
      continue;
    for (size_t offset = segment.p_offset;; offset += sizeof(Elf64_Dyn))
      if (at<Elf64_Dyn>(bytes, offset).d_tag == tag)
        return offset;
  }
  return 0;
}

} // namespace

TEST_F(PlanObject, LoadsWhatPlansHave) {
  EXPECT_EQ(problem(object("plain")), "");
  EXPECT_EQ(loadingProblem(object("plain")), "");
}

TEST_F(PlanObject, RefusesWhatRunsOrLoadsByItself) {
  const std::pair<const char *, const char *> cases[] = {
      {"needs", "it asks for another library"},
      {"rpath", "it names a folder of libraries"},
      {"runpath", "it names a folder of libraries"},
      {"constructor", "it runs code when it is loaded"},
      {"thread-storage", "a segment of type 0x7, which no plan has"},
      {"stack", "it asks for an executable stack"},
      {"lazy", "its names are not looked up before it runs"},
      {"nameless", "it does not export tpsp_plan_step"}};
  for (auto [variant, expected] : cases) {
    EXPECT_THAT(problem(object(variant)), HasSubstr(expected)) << variant;
    EXPECT_THAT(loadingProblem(object(variant)), HasSubstr(expected));
  }
}

// GNU's linker marks the whole object, LLVM's the symbol alone.
TEST_F(PlanObject, RefusesIndirectFunctions) {
  EXPECT_THAT(problem(object("indirect")),
              AnyOf(HasSubstr("it uses extensions of a system's linker"),
                    HasSubstr("its symbol indirect is of type 10")));
  EXPECT_NE(loadingProblem(object("indirect")), "");
}

TEST_F(PlanObject, RefusesTablesThatAreNotInIt) {
  for (int64_t tag : {DT_STRTAB, DT_SYMTAB, DT_GNU_HASH, DT_HASH, DT_RELA}) {
    std::string bytes = object("plain");
    size_t entry = dynamicEntry(bytes, tag);
    ASSERT_NE(entry, 0u) << tag;
    for (uint64_t place :
         {uint64_t(0x7ffffff0), ~uint64_t(7), uint64_t(1) << 40}) {
      put(bytes, entry + offsetof(Elf64_Dyn, d_un), place);
      EXPECT_NE(problem(bytes), "") << tag << " at " << place;
    }
  }
  for (int64_t tag : {DT_STRSZ, DT_RELASZ, DT_RELACOUNT}) {
    std::string bytes = object("plain");
    put(bytes, dynamicEntry(bytes, tag) + offsetof(Elf64_Dyn, d_un),
        uint64_t(24) << 56);
    EXPECT_NE(problem(bytes), "") << tag;
  }
}

TEST_F(PlanObject, RefusesTablesOfSegmentsThatAreNotInIt) {
  const std::string plain = object("plain");
  auto header = at<Elf64_Ehdr>(plain, 0);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    size_t place = header.e_phoff + i * sizeof(Elf64_Phdr);
    auto segment = at<Elf64_Phdr>(plain, place);
    if (segment.p_type != PT_PHDR && segment.p_type != PT_GNU_EH_FRAME)
      continue;
    for (uint64_t address : {uint64_t(1) << 22, segment.p_vaddr + 8}) {
      std::string bytes = plain;
      segment.p_vaddr = address;
      put(bytes, place, segment);
      EXPECT_THAT(problem(bytes),
                  HasSubstr("a table of its segments is not in it"));
    }
  }
}

TEST_F(PlanObject, RefusesRelocationsOfWhatIsNotItsData) {
  std::string bytes = object("plain");
  size_t entry = dynamicEntry(bytes, DT_RELA);
  ASSERT_NE(entry, 0u);
  // The table is in the first segment, where file offsets are addresses.
  auto first = at<Elf64_Rela>(bytes, at<Elf64_Dyn>(bytes, entry).d_un.d_ptr);
  for (uint64_t place : {uint64_t(0), uint64_t(1) << 30, ~uint64_t(7)}) {
    Elf64_Rela moved = first;
    moved.r_offset = place;
    put(bytes, at<Elf64_Dyn>(bytes, entry).d_un.d_ptr, moved);
    EXPECT_THAT(problem(bytes), HasSubstr("a relocation is not of its data"));
  }
}

TEST_F(PlanObject, RefusesEveryLength) {
  std::string bytes = object("plain");
  // After the segments are sections, which loading does not read.
  size_t needed = dynamicEntry(bytes, DT_NULL);
  for (size_t length = 0; length < needed; length += 5)
    EXPECT_NE(problem(bytes.substr(0, length)), "") << length;
}

/// With any byte changed, the object is refused or loads. The check sees every
/// changed object, and the linker those that pass the check.
TEST_F(PlanObject, IsRefusedOrLoadsWithAnyByteChanged) {
  const std::string plain = object("plain");
  std::mt19937 random(20261122);
  int passed = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    std::string bytes = plain;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << random() % 8));
    if (!problem(bytes).empty())
      continue;
    ++passed;
    if (passed % 16 == 0)
      loadingProblem(bytes);
  }
  EXPECT_GT(passed, 100) << "code and constants may be anything";
}
