/// Files in the safetensors format that are read back, and files that are
/// refused.
#include "tpsp/Runtime/Driver/Tensors/Safetensors.h"

#include "TestFiles.h"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace tpsp;
using namespace tpsp::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns a file of this header and some data.
std::string fileOf(const std::string &header, size_t dataBytes) {
  uint64_t length = header.size();
  std::string prefix(reinterpret_cast<const char *>(&length), sizeof length);
  std::string data(dataBytes, '\0');
  for (size_t i = 0; i < dataBytes; ++i)
    data[i] = static_cast<char>(i);
  return prefix + header + data;
}

constexpr const char *sound =
    R"({"__metadata__":{"format":"pt"},)"
    R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[24,30]},)"
    R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("s":{"dtype":"F8_E8M0","shape":[],"data_offsets":[30,31]}}  )";

class SafetensorsTest : public TestFiles {
protected:
  /// Returns why a file is refused.
  std::string refusal(const std::string &bytes) const {
    SafetensorsReader reader;
    Status status = SafetensorsReader::open(write("f", bytes), reader);
    EXPECT_FALSE(status.ok());
    return status.message();
  }
  /// Returns why a file with one tensor, described by `value`, is refused.
  std::string refusalOf(const std::string &value, size_t bytes = 24) const {
    return refusal(fileOf("{\"w\":" + value + "}", bytes));
  }
};

TEST_F(SafetensorsTest, ReadsWhatOthersWrite) {
  SafetensorsReader reader;
  Status status =
      SafetensorsReader::open(write("f", fileOf(sound, 31)), reader);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(reader.tensors().size(), 3u);
  EXPECT_EQ(reader.find("__metadata__"), nullptr);
  const SafetensorsTensor *b = reader.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, "BF16");
  EXPECT_THAT(b->shape, ElementsAre(3));
  char bytes[2];
  EXPECT_TRUE(reader.read(*b, 4, 2, bytes).ok());
  EXPECT_THAT(bytes, ElementsAre(28, 29));
  EXPECT_FALSE(reader.read(*b, 5, 2, bytes).ok());
  EXPECT_FALSE(reader.read(*b, -1, 2, bytes).ok());
}

TEST_F(SafetensorsTest, AFileWithoutTensorsIsOne) {
  SafetensorsReader reader;
  EXPECT_TRUE(
      SafetensorsReader::open(write("f", fileOf("{}", 0)), reader).ok());
  EXPECT_TRUE(reader.tensors().empty());
}

TEST_F(SafetensorsTest, RefusesWhatIsNoFile) {
  SafetensorsReader reader;
  auto message = [&](const std::string &at) {
    return SafetensorsReader::open(at, reader).message();
  };
  EXPECT_THAT(message(path("none")), HasSubstr("No such file"));
  EXPECT_THAT(message(folder), HasSubstr("Is a directory"));
  EXPECT_THAT(message("/dev/null"), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(message(path("pipe")), HasSubstr("not a regular file"));
}

TEST_F(SafetensorsTest, RefusesHeadersThatAreNone) {
  EXPECT_THAT(refusal(""), HasSubstr("has 0 bytes"));
  EXPECT_THAT(refusal("1234567"), HasSubstr("has 7 bytes"));
  EXPECT_THAT(refusal(std::string(8, '\0')), HasSubstr("would have 0 bytes"));
  EXPECT_THAT(refusal(std::string(64, '\xff')),
              HasSubstr("would have 18446744073709551615 bytes, of the 56"));
  EXPECT_THAT(refusal(fileOf(sound, 0).substr(0, 100)),
              HasSubstr("of the 92 that follow"));
  for (const char *header :
       {"[]", "12", "{\"w\"", " {}", "{} x", "{\"w\":1e999}", "{\"\xff\":1}"})
    EXPECT_THAT(refusal(fileOf(header, 0)), HasSubstr("not a JSON object"))
        << header;
  EXPECT_THAT(refusal(fileOf(std::string(1 << 20, '['), 0)),
              HasSubstr("not a JSON object"));
}

TEST_F(SafetensorsTest, RefusesTensorsThatAreNone) {
  EXPECT_THAT(refusalOf("12"), HasSubstr("tensor 'w' is not described"));
  EXPECT_THAT(refusalOf("{}"), HasSubstr("tensor 'w' has no dtype"));
  EXPECT_THAT(refusalOf(R"({"dtype":4})"), HasSubstr("has no dtype"));
  for (const char *shape :
       {"", R"(,"shape":6)", R"(,"shape":[-1])", R"(,"shape":[1.5])",
        R"(,"shape":["2"])", R"(,"shape":[9223372036854775808])",
        R"(,"shape":[[[[[2]]]]])"})
    EXPECT_THAT(refusalOf(std::string(R"({"dtype":"F32")") + shape + "}"),
                HasSubstr("has no shape"))
        << shape;
  for (const char *offsets :
       {"", ",\"data_offsets\":[0]", ",\"data_offsets\":[0,8,24]",
        ",\"data_offsets\":[24,0]", ",\"data_offsets\":[-8,16]"})
    EXPECT_THAT(
        refusalOf(std::string(R"({"dtype":"F32","shape":[6])") + offsets + "}"),
        HasSubstr("has no data_offsets"))
        << offsets;
}

TEST_F(SafetensorsTest, RefusesFiguresThatDoNotAgree) {
  EXPECT_THAT(
      refusalOf(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,20]})"),
      HasSubstr("tensor 'w' is F32 of [2, 3], 24 bytes, but its data_offsets "
                "[0, 20] hold 20"));
  EXPECT_THAT(
      refusalOf(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})", 23),
      HasSubstr("ends at byte 24 of the data, but the file has only 23"));
  EXPECT_THAT(refusalOf(R"({"dtype":"F32","shape":[4294967296,4294967296],)"
                        R"("data_offsets":[0,24]})"),
              HasSubstr("[4294967296, 4294967296], which is too large"));
  EXPECT_THAT(
      refusalOf(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})", 25),
      HasSubstr("bytes 24 to 25 of the data are of no tensor"));
  EXPECT_THAT(
      refusalOf(R"({"dtype":"F32","shape":[2,2],"data_offsets":[8,24]})"),
      HasSubstr("bytes 0 to 8 of the data are of no tensor"));
}

TEST_F(SafetensorsTest, RefusesOverlapsAndDoubles) {
  std::string a = R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})";
  std::string b = R"({"dtype":"F32","shape":[4],"data_offsets":[12,28]})";
  EXPECT_THAT(refusal(fileOf("{\"b\":" + b + ",\"a\":" + a + "}", 28)),
              HasSubstr("tensors 'a' and 'b' overlap: bytes 0 to 16, and 12 "
                        "to 28"));
  EXPECT_THAT(refusal(fileOf("{\"a\":" + a + ",\"a\":" + a + "}", 16)),
              HasSubstr("two tensors 'a'"));
}

TEST_F(SafetensorsTest, ShowsNamesSafely) {
  EXPECT_EQ(quotedName("w\n\x1b[0m\"\xff"), "'w\\n\\u001b[0m\\\"\\ufffd'");
  EXPECT_EQ(quotedName(std::string(200, 'x')),
            "'" + std::string(80, 'x') + "...'");
}

/// Any bytes are refused or read within bounds, which the sanitizers check.
TEST_F(SafetensorsTest, SurvivesAnyDamage) {
  const char *given = std::getenv("TPSP_TEST_SEED");
  unsigned seed = given ? std::atoi(given) : 1;
  SCOPED_TRACE("TPSP_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string whole = fileOf(sound, 31);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = whole;
    for (int flips = random() % 4; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= 1 << random() % 8;
    if (round % 4 == 0)
      bytes.resize(random() % bytes.size());
    SafetensorsReader reader;
    Status status = SafetensorsReader::open(write("f", bytes), reader);
    refused += !status.ok();
    for (const SafetensorsTensor &tensor : reader.tensors()) {
      if (!status.ok())
        break;
      ASSERT_LE(tensor.offset + tensor.bytes, int64_t(bytes.size()));
      std::vector<char> data(tensor.bytes);
      EXPECT_TRUE(reader.read(tensor, 0, tensor.bytes, data.data()).ok());
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 1000);
}

TEST_F(SafetensorsTest, AFileCutWhileItIsReadIsAnError) {
  SafetensorsReader reader;
  std::string bytesBefore = fileOf(sound, 31);
  ASSERT_TRUE(SafetensorsReader::open(write("f", bytesBefore), reader).ok());
  ASSERT_EQ(truncate(path("f").c_str(), bytesBefore.size() - 20), 0);
  char bytes[24];
  EXPECT_THAT(reader.read(*reader.find("w"), 0, 24, bytes).message(),
              HasSubstr("13 bytes early: another process has cut it"));
}

TEST_F(SafetensorsTest, WritesWhatItReads) {
  std::unique_ptr<SafetensorsWriter> writer;
  std::vector<SafetensorsTensor> tensors = {{"b", "BF16", {3}, 0, 0},
                                            {"w \"1\"", "F32", {2, 3}, 0, 0},
                                            {"a", "F32", {}, 0, 0},
                                            {"none", "F32", {0, 7}, 0, 0}};
  Status status = SafetensorsWriter::create(path("f"), tensors, writer);
  ASSERT_TRUE(status.ok()) << status.message();
  std::string data = "some bytes that are longer";
  for (const SafetensorsTensor &tensor : writer->tensors()) {
    EXPECT_EQ(tensor.offset % (tensor.dtype == "F32" ? 4 : 2), 0);
    EXPECT_TRUE(writer->write(tensor, 0, data.data(), tensor.bytes).ok());
    EXPECT_FALSE(writer->write(tensor, 1, data.data(), tensor.bytes).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path("f")));
  status = writer->finish();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(filesInFolder(), 1);

  SafetensorsReader reader;
  status = SafetensorsReader::open(path("f"), reader);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const SafetensorsTensor &tensor : tensors) {
    const SafetensorsTensor *found = reader.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->dtype, tensor.dtype);
    EXPECT_EQ(found->shape, tensor.shape);
    std::string back(found->bytes, '\0');
    EXPECT_TRUE(reader.read(*found, 0, found->bytes, back.data()).ok());
    EXPECT_EQ(back, data.substr(0, found->bytes));
  }
}

TEST_F(SafetensorsTest, RefusesNamesThatAFileCannotHave) {
  std::unique_ptr<SafetensorsWriter> writer;
  auto message = [&](const char *first, const char *second) {
    return SafetensorsWriter::create(
               path("f"), {{first, "F32", {}, 0, 0}, {second, "F32", {}, 0, 0}},
               writer)
        .message();
  };
  EXPECT_THAT(message("a", "a"), HasSubstr("a second tensor 'a'"));
  EXPECT_THAT(message("a", "__metadata__"),
              HasSubstr("a tensor '__metadata__'"));
  EXPECT_EQ(filesInFolder(), 0);
}

TEST_F(SafetensorsTest, WritesTheWholeFileOrNone) {
  write("f", "what was there");
  std::unique_ptr<SafetensorsWriter> writer;
  std::vector<SafetensorsTensor> tensors = {{"w", "F32", {1 << 16}, 0, 0}};
  std::string data(1 << 18, 'x');
  ASSERT_TRUE(SafetensorsWriter::create(path("f"), tensors, writer).ok());
  // Stands for a disk with room for 64 KiB.
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = {1 << 16, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Status status =
      writer->write(writer->tensors()[0], 0, data.data(), data.size());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(status.message(), HasSubstr("cannot write '"));
  EXPECT_THAT(status.message(), HasSubstr("File too large"));
  writer.reset();
  EXPECT_EQ(read("f"), "what was there");
  EXPECT_EQ(filesInFolder(), 1);
}

TEST_F(SafetensorsTest, RefusesPlacesThatNoFileCanTake) {
  std::unique_ptr<SafetensorsWriter> writer;
  auto message = [&](const std::string &at) {
    return SafetensorsWriter::create(at, {}, writer).message();
  };
  EXPECT_THAT(message(folder), HasSubstr("Is a directory"));
  EXPECT_THAT(message(path("none/f")), HasSubstr("No such file"));
  EXPECT_THAT(message("/dev/full"), HasSubstr("not a regular file"));
}

TEST_F(SafetensorsTest, ALinkStaysOne) {
  write("file", "old");
  std::filesystem::create_symlink("file", path("link"));
  std::unique_ptr<SafetensorsWriter> writer;
  ASSERT_TRUE(SafetensorsWriter::create(path("link"), {}, writer).ok());
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_NE(read("file"), "old");
}

} // namespace
