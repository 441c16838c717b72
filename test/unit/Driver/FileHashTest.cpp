#include "TestFiles.h"

#include "tpsp/Runtime/Driver/Files/AgreedFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace tpsp::rt;
using testing::HasSubstr;

namespace {

class FileHash : public TestFiles {
protected:
  /// Writes a sparse file with one byte at a place and zeros elsewhere.
  std::string writeSparse(const std::string &name, int64_t size, int64_t at) {
    write(name, "");
    std::filesystem::resize_file(path(name), size);
    std::fstream file(path(name),
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file.put(1);
    return path(name);
  }

  static uint64_t hashOf(const std::string &path,
                         HashedPart part = HashedPart::Whole) {
    uint64_t hash = 0;
    EXPECT_TRUE(hashFile(path, part, hash).ok());
    return hash;
  }
};

TEST_F(FileHash, IsOfTheBytesAndNotOfTheName) {
  std::string bytes(10000000, 'a');
  uint64_t hash = hashOf(write("a", bytes));
  EXPECT_EQ(hashOf(write("b", bytes)), hash);
  for (size_t at : {size_t(0), size_t(4194304), bytes.size() - 1}) {
    bytes[at] = 'b';
    EXPECT_NE(hashOf(write("b", bytes)), hash) << at;
    bytes[at] = 'a';
  }
  EXPECT_NE(hashOf(write("b", bytes + "a")), hash);
  EXPECT_NE(hashOf(write("b", "")), hash);
}

/// A file's hash depends on the order of its pieces.
TEST_F(FileHash, IsOfPlacesToo) {
  std::string one(4 << 20, 'a'), other(4 << 20, 'b');
  EXPECT_NE(hashOf(write("a", one + other)), hashOf(write("b", other + one)));
}

TEST_F(FileHash, OfASampleIsOfTheSizeAndOfMuchOfALongFile) {
  constexpr int64_t size = int64_t(1) << 30, stride = size / 4096;
  auto hash = [&](int64_t bytes, int64_t at) {
    return hashOf(writeSparse("long", bytes, at), HashedPart::Sample);
  };
  uint64_t first = hash(size, 0);
  EXPECT_EQ(hash(size, 0), first);
  EXPECT_NE(hash(size + 1, 0), first);
  EXPECT_NE(hash(size, 1), first);
  EXPECT_NE(hash(size, 1000 * stride), hash(size, 1001 * stride));
  EXPECT_NE(hash(size, size - 1), hash(size, size - 2));
  // Nothing between the samples is read.
  EXPECT_EQ(hash(size, stride - 1), hash(size, stride - 2));
}

TEST_F(FileHash, RefusesWhatIsNoFile) {
  uint64_t hash = 0;
  Status status = hashFile(path("none"), HashedPart::Whole, hash);
  EXPECT_THAT(status.message(), HasSubstr("none': No such file"));
  EXPECT_FALSE(hashFile("/dev/zero", HashedPart::Whole, hash).ok());
}

TEST_F(FileHash, OfAFileThatIsExpectedIsCompared) {
  AgreedFile file{"--resume", write("a", "abc")};
  file.expected = hashOf(file.path);
  file.expectedBy = "'training.json'";
  EXPECT_TRUE(checkFiles(nullptr, {file}, 30).ok());
  write("a", "abd");
  EXPECT_THAT(checkFiles(nullptr, {file}, 30).message(),
              HasSubstr("a' is not the file that was written with "
                        "'training.json', or was damaged"));
}

} // namespace
