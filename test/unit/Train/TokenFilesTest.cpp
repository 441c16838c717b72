#include "tpsp/Runtime/Train/TokenFiles.h"

#include "TestFiles.h"

#include <gmock/gmock.h>

using namespace tpsp::rt;
using namespace tpsp::train;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns numbers as little-endian bytes.
template <typename T> std::string bytesOf(const std::vector<int64_t> &numbers) {
  std::string bytes;
  for (int64_t number : numbers) {
    T value = static_cast<T>(number);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  return bytes;
}

std::string llmc(int32_t magic, int32_t tokens, const std::string &data) {
  std::vector<int64_t> header(256);
  header[0] = magic;
  header[1] = 1;
  header[2] = tokens;
  return bytesOf<int32_t>(header) + data;
}

/// Returns an index of sequences of these lengths, whose tokens have `width`
/// bytes.
std::string megatron(char code, int width,
                     const std::vector<int64_t> &lengths) {
  std::string index("MMIDIDX\0\0", 9);
  index +=
      bytesOf<int64_t>({1}) + code +
      bytesOf<int64_t>({int64_t(lengths.size()), int64_t(lengths.size()) + 1});
  std::vector<int64_t> pointers, documents = {0};
  int64_t at = 0;
  for (int64_t length : lengths) {
    pointers.push_back(at);
    documents.push_back(documents.size());
    at += length * width;
  }
  return index + bytesOf<int32_t>(lengths) + bytesOf<int64_t>(pointers) +
         bytesOf<int64_t>(documents);
}

std::string npy(const std::string &type, const std::string &shape,
                const std::string &data) {
  std::string header = "{'descr': '" + type +
                       "', 'fortran_order': False, 'shape': (" + shape +
                       "), }\n";
  return std::string("\x93NUMPY\x01\x00", 8) +
         bytesOf<uint16_t>({int64_t(header.size())}) + header + data;
}

class TokenFilesTest : public TestFiles {
protected:
  std::vector<int64_t> tokens(const std::vector<std::string> &paths,
                              const std::string &format = "auto") {
    TokenFiles files;
    Status status = TokenFiles::open(paths, format, files);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<int64_t> read(files.size());
    files.read(0, files.size(), read.data());
    return read;
  }
  std::string problem(const std::string &path,
                      const std::string &format = "auto") {
    TokenFiles files;
    Status status = TokenFiles::open({path}, format, files);
    EXPECT_FALSE(status.ok());
    return status.message();
  }
};

} // namespace

TEST_F(TokenFilesTest, ATextIsItsBytes) {
  EXPECT_THAT(tokens({write("a.txt", "A\xff\n")}, "text"),
              ElementsAre(65, 255, 10));
  EXPECT_THAT(tokens({write("a.md", "\xc3\xa4")}), ElementsAre(0xc3, 0xa4));
}

TEST_F(TokenFilesTest, WhatIsNoTextIsNotTakenForOne) {
  EXPECT_THAT(problem(write("a.dat", "A\xff\n")),
              AllOf(HasSubstr("a.dat' is no text: its byte 1 is 0xff"),
                    HasSubstr("--data-format"), HasSubstr("npy")));
  EXPECT_THAT(problem(write("b.dat", std::string("ab\0c", 4))),
              HasSubstr("its byte 2 is 0x00"));
  EXPECT_THAT(problem(write("c.dat", "\xc3")), HasSubstr("its byte 0"));
  // A boundary of 64 KiB cuts a character in two.
  std::string whole((1 << 16) - 1, 'a');
  EXPECT_EQ(tokens({write("d.txt", whole + "\xc3\xa4")}).size(),
            whole.size() + 2);
}

TEST_F(TokenFilesTest, NumPysArraysHaveOneDimension) {
  EXPECT_THAT(
      tokens({write("a.npy",
                    npy("<u2", "3,", bytesOf<uint16_t>({1, 50256, 65535})))}),
      ElementsAre(1, 50256, 65535));
  EXPECT_THAT(tokens({write(
                  "b.npy", npy("<u4", "1,", bytesOf<uint32_t>({4294967295})))}),
              ElementsAre(4294967295));
  EXPECT_THAT(
      tokens({write("c.npy", npy("<i4", "2,", bytesOf<int32_t>({5, 7}))),
              write("d.npy", npy("<i8", "1,", bytesOf<int64_t>({9}))),
              write("e.npy", npy("|u1", "1,", "A"))}),
      ElementsAre(5, 7, 9, 65));
}

TEST_F(TokenFilesTest, NumPysOtherArraysAreRefused) {
  EXPECT_THAT(
      problem(write("a.npy", npy("<f4", "1,", "abcd"))),
      AllOf(HasSubstr("a.npy'"), HasSubstr("'<f4'"), HasSubstr("'<u2'")));
  EXPECT_THAT(problem(write("a.npy", npy(">u2", "1,", "ab"))),
              HasSubstr("big endian"));
  EXPECT_THAT(problem(write("a.npy", npy("<u2", "2, 1", "abcd"))),
              AllOf(HasSubstr("[2, 1]"), HasSubstr("numpy.ravel")));
  EXPECT_THAT(problem(write("a.npy", npy("<u2", "2,", "ab"))),
              HasSubstr("2 tokens of 2 bytes, and 2 bytes follow"));
  EXPECT_THAT(problem(write("a.npy", "tokens")), HasSubstr("no .npy file"));
}

TEST_F(TokenFilesTest, NamesEveryFileThatIsRead) {
  std::string text = write("1.txt", "abc");
  std::string data = write("a.bin", bytesOf<uint16_t>({1, 2, 3}));
  std::string index = write("a.idx", megatron(8, 2, {2, 1}));
  TokenFiles files;
  ASSERT_TRUE(TokenFiles::open({text, data}, "auto", files).ok());
  EXPECT_THAT(files.paths(), ElementsAre(text, data, index));
}

TEST_F(TokenFilesTest, RawTokensAreLittleEndian) {
  EXPECT_THAT(tokens({write("a.bin", bytesOf<uint16_t>({1, 50256, 65535}))}),
              ElementsAre(1, 50256, 65535));
  EXPECT_THAT(
      tokens({write("a.u32", bytesOf<uint32_t>({128255, 4294967295}))}, "u32"),
      ElementsAre(128255, 4294967295));
}

TEST_F(TokenFilesTest, SeveralFilesAreOne) {
  std::string one = write("a.txt", "ab"), other = write("b.txt", "cde");
  TokenFiles files;
  ASSERT_TRUE(TokenFiles::open({one, other}, "auto", files).ok());
  std::vector<int64_t> read(3);
  files.read(1, 3, read.data());
  EXPECT_THAT(read, ElementsAre('b', 'c', 'd'));
  EXPECT_EQ(files.placeOf(3), "'" + other + "' at token 1");
}

TEST_F(TokenFilesTest, LlmcFilesSayHowManyTheyAre) {
  EXPECT_THAT(tokens({write("a.bin",
                            llmc(20240520, 2, bytesOf<uint16_t>({7, 50256})))}),
              ElementsAre(7, 50256));
  EXPECT_THAT(tokens({write(
                  "b.bin", llmc(20240801, 2, bytesOf<uint32_t>({7, 128000})))}),
              ElementsAre(7, 128000));
  EXPECT_THAT(problem(write("c.bin", llmc(20240520, 3, "1234"))),
              HasSubstr("has 2 tokens, and its header says 3"));
  EXPECT_THAT(problem(write("d.bin", bytesOf<uint16_t>({1})), "llmc"),
              HasSubstr("does not begin as llm.c's files do"));
}

/// The file begins with the format's first bytes but has no tokens.
TEST_F(TokenFilesTest, AnLlmcFileThatIsCutInItsHeaderIsRefused) {
  std::string whole = llmc(20240520, 2, bytesOf<uint16_t>({7, 50256}));
  for (size_t bytes : {4, 6, 512, 1023})
    EXPECT_THAT(problem(write("a.bin", whole.substr(0, bytes))),
                HasSubstr("is cut off: it has " + std::to_string(bytes) +
                          " bytes, and their header has 1024"));
}

TEST_F(TokenFilesTest, MegatronsSequencesFollowEachOther) {
  for (auto [code, width] : {std::pair<char, int>(8, 2), {4, 4}, {5, 8}}) {
    std::string bytes = width == 2   ? bytesOf<uint16_t>({1, 2, 3, 4, 5})
                        : width == 4 ? bytesOf<int32_t>({1, 2, 3, 4, 5})
                                     : bytesOf<int64_t>({1, 2, 3, 4, 5});
    std::string data = write("a.bin", bytes);
    std::string index = write("a.idx", megatron(code, width, {2, 0, 3}));
    EXPECT_THAT(tokens({index}), ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(tokens({data}), ElementsAre(1, 2, 3, 4, 5));
  }
}

TEST_F(TokenFilesTest, AMegatronIndexThatIsWrongIsRefused) {
  write("a.bin", bytesOf<uint16_t>({1, 2, 3}));
  std::string good = megatron(8, 2, {2, 1});
  EXPECT_THAT(problem(write("a.idx", megatron(8, 2, {2, 2}))),
              HasSubstr("has 6 bytes, and its index says 8"));
  EXPECT_THAT(problem(write("a.idx", megatron(7, 2, {2, 1}))),
              HasSubstr("of type 7"));
  EXPECT_THAT(problem(write("a.idx", good.substr(0, 50))),
              HasSubstr("is cut off"));
  EXPECT_THAT(problem(write("a.idx", "MMIDIDX")),
              HasSubstr("does not begin as Megatron's"));
  std::string gap = good;
  gap[34 + 8 + 8] = 6; // where the second sequence is
  EXPECT_THAT(problem(write("a.idx", gap)), HasSubstr("do not follow"));
  std::string negative = good;
  negative[34 + 3] = '\x80'; // the first one's length
  EXPECT_THAT(problem(write("a.idx", negative)), HasSubstr("do not follow"));
}

TEST_F(TokenFilesTest, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(problem(path("none")), HasSubstr("none': No such file"));
  EXPECT_THAT(problem(write("empty.txt", "")), HasSubstr("has no tokens"));
  EXPECT_THAT(problem(write("odd.bin", "123")), HasSubstr("3 bytes of tokens"));
  EXPECT_THAT(problem(folder), HasSubstr("cannot read"));
  EXPECT_THAT(problem(write("a.txt", "a"), "parquet"),
              HasSubstr("there are auto, text, u16, u32, llmc, npy, megatron"));
}
