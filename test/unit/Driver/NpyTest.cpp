/// Arrays of NumPy that are read, and others that are refused.
#include "tpsp/Runtime/Driver/Tensors/Npy.h"

#include "TestFiles.h"
#include "TestNpy.h"

#include "tpsp/Abi/tpsp_rt.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::rt;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class NpyTest : public TestFiles {
protected:
  /// Returns the message about a file that cannot be read.
  std::string problemOf(const std::string &bytes) const {
    NpyReader reader;
    return NpyReader::open(write("f.npy", bytes), reader).message();
  }
  std::string problemOfHeader(const std::string &header,
                              const std::string &data = "") const {
    return problemOf(npyWithHeader(header, data));
  }
};

TEST_F(NpyTest, ReadsEveryVersion) {
  std::vector<int32_t> values = {3, 1, 4, 1, 5, 9};
  for (char version : {1, 2, 3}) {
    NpyReader reader;
    Status status = NpyReader::open(
        write("f.npy", npy("<i4", "(2, 3)", bytesOf(values), version)), reader);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(reader.dtype(), TPSP_RT_I32);
    EXPECT_THAT(reader.shape(), ElementsAre(2, 3));
    int32_t read[2];
    ASSERT_TRUE(reader.read(8, 8, read).ok());
    EXPECT_THAT(read, ElementsAre(4, 1));
    EXPECT_FALSE(reader.read(20, 8, read).ok());
  }
}

TEST_F(NpyTest, ReadsTheTypesThatProgramsHave) {
  for (auto [descr, dtype, bytes] :
       {std::tuple("<i4", TPSP_RT_I32, 4), std::tuple("<i8", TPSP_RT_I64, 8),
        std::tuple("<f4", TPSP_RT_F32, 4), std::tuple("<f8", TPSP_RT_F64, 8),
        std::tuple("<f2", TPSP_RT_F16, 2)}) {
    NpyReader reader;
    Status status = NpyReader::open(
        write("f.npy", npy(descr, "(3,)", std::string(3 * bytes, 0))), reader);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(reader.dtype(), dtype);
    EXPECT_THAT(reader.shape(), ElementsAre(3));
  }
}

TEST_F(NpyTest, AScalarHasNoExtents) {
  NpyReader reader;
  ASSERT_TRUE(
      NpyReader::open(write("f.npy", npy("<f4", "()", "1234")), reader).ok());
  EXPECT_THAT(reader.shape(), IsEmpty());
}

TEST_F(NpyTest, KnowsItsFiles) {
  EXPECT_TRUE(NpyReader::looksLike(write("a", npy("<f4", "()", "1234"))));
  EXPECT_FALSE(NpyReader::looksLike(write("b", "\x93NUM")));
  EXPECT_FALSE(NpyReader::looksLike(write("c", "{\"w\": 1}")));
  EXPECT_FALSE(NpyReader::looksLike(path("none")));
}

TEST_F(NpyTest, RefusesOrdersThatAreNotOurs) {
  EXPECT_THAT(problemOfHeader("{'descr': '<f4', 'fortran_order': True, "
                              "'shape': (1,), }",
                              "1234"),
              HasSubstr("f.npy': it is in Fortran order; save it with "
                        "numpy.ascontiguousarray"));
  EXPECT_THAT(problemOf(npy(">f4", "(1,)", "1234")),
              HasSubstr("it is big endian ('>f4'); save it with "
                        ".astype('<f4')"));
}

TEST_F(NpyTest, RefusesOtherTypes) {
  for (const char *descr : {"|b1", "<u4", "<V2", "<c8", "|O", "|S4"})
    EXPECT_THAT(problemOf(npy(descr, "(1,)", "12345678")),
                HasSubstr(std::string("its elements are '") + descr +
                          "'; '<i4', '<i8', '<f4', '<f8' and '<f2' are read"));
  EXPECT_THAT(problemOfHeader("{'descr': [('a', '<f4')], 'fortran_order': "
                              "False, 'shape': (1,), }"),
              HasSubstr("its elements are "));
}

TEST_F(NpyTest, RefusesSizesThatDoNotAddUp) {
  EXPECT_THAT(problemOf(npy("<f4", "(2,)", "1234567")),
              HasSubstr("f32 of [2] are 8 bytes, but it has 7 behind its "
                        "header"));
  EXPECT_THAT(problemOf(npy("<f4", "(2,)", "123456789")), HasSubstr("has 9"));
  EXPECT_THAT(problemOf(npy("<f8", "(4611686018427387904, 2)", "")),
              HasSubstr("is too large"));
  EXPECT_THAT(problemOf(npy("<f4", "(0, 9223372036854775807, 2)", "")),
              testing::AnyOf(IsEmpty(), HasSubstr("is too large")));
  for (const char *shape : {"(-1,)", "(x,)", "(99999999999999999999,)", "(1 2)",
                            "(,)", "(1,,)", "3"})
    EXPECT_THAT(problemOf(npy("<f4", shape, "1234")), HasSubstr("f.npy': "))
        << shape;
}

TEST_F(NpyTest, RefusesWhatIsNoSuchFile) {
  std::string whole = npy("<f4", "(1,)", "1234");
  for (size_t length : {0, 5, 7, 8, 9, 10, 50})
    EXPECT_THAT(problemOf(whole.substr(0, length)), HasSubstr("cut short"))
        << length;
  EXPECT_THAT(problemOf("no array at all"), HasSubstr("it is no .npy file"));
  EXPECT_THAT(problemOf(npy("<f4", "(1,)", "1234", 4)),
              HasSubstr("it has version 4.0 of its format; 1 to 3 are read"));
  NpyReader reader;
  EXPECT_THAT(NpyReader::open(path("none.npy"), reader).message(),
              HasSubstr("none.npy': No such file or directory"));
}

TEST_F(NpyTest, RefusesHeadersThatAreNone) {
  for (const char *header :
       {"", "{", "{}", "[1]", "{'descr': '<f4'}", "{'descr' '<f4'}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} {}",
        "{'descr': '', 'fortran_order': False, 'shape': (1,), }",
        "{'descr: <f4}"})
    EXPECT_THAT(problemOfHeader(header, "1234"),
                HasSubstr("its header is no dictionary of descr, fortran_order "
                          "and shape"))
        << header;
}

} // namespace
