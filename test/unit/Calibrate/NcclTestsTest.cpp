#include "NcclFiles.h"

#include "llvm/ADT/StringExtras.h"

#include "gmock/gmock.h"

using namespace tpsp;
using namespace tpsp::calibration;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Returns lines of ranks on two hosts, as many on each.
std::string rankLines(int perHost = 2) {
  std::string lines = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n"
                      "# Using devices\n";
  for (int rank = 0; rank < 2 * perHost; ++rank)
    lines += "#  Rank  " + std::to_string(rank) + " Group  0 Pid   7 on      " +
             (rank < perHost ? "a" : "b") + " device  0 [0x1b] NVIDIA H100\n";
  return lines;
}

const std::string heading =
    "#       size         count      type   redop    root     time   algbw   "
    "busbw #wrong     time   algbw   busbw #wrong\n";

std::string row(const std::string &bytes, const std::string &time,
                const std::string &wrong = "0") {
  return bytes + "  256  float  sum  -1  " + time + "  0.02  0.03  " + wrong +
         "  9.99  0.02  0.03  " + wrong + "\n";
}

std::string table(const std::string &rows) {
  return rankLines() + heading + rows;
}

llvm::Expected<std::vector<NcclRun>> read(const std::string &text,
                                          const char *name = "all_reduce.txt") {
  return readNcclTests(text, name);
}

NcclRun only(const std::string &text, const char *name = "all_reduce.txt") {
  auto runs = read(text, name);
  if (!runs) {
    ADD_FAILURE() << llvm::toString(runs.takeError());
    return {};
  }
  EXPECT_EQ(runs->size(), 1u);
  return runs->front();
}

std::string refusal(const std::string &text,
                    const char *name = "all_reduce.txt") {
  auto runs = read(text, name);
  return runs ? "" : llvm::toString(runs.takeError());
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

} // namespace

TEST(NcclTests, FilesOfFiveTests) {
  std::vector<NcclRun> runs = allNcclRuns();
  ASSERT_EQ(runs.size(), 5u);
  const CollectiveKind kinds[] = {
      CollectiveKind::AllReduce, CollectiveKind::AllGather,
      CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
      CollectiveKind::Permute};
  for (auto [run, kind] : llvm::zip_equal(runs, kinds)) {
    EXPECT_EQ(run.kind, kind) << run.origin;
    EXPECT_EQ(run.nodes, 2) << run.origin;
    EXPECT_EQ(run.perNode, 8) << run.origin;
    EXPECT_EQ(run.groups, 1) << run.origin;
  }
  EXPECT_EQ(runs[0].times.size(), 11u);
  EXPECT_EQ(runs[0].times.back().bytes, 1 << 30);
  EXPECT_DOUBLE_EQ(runs[0].times.back().value, 6046.70e-6);
  EXPECT_EQ(runs[0].origin, "all_reduce.txt:24");
  EXPECT_EQ(runs[4].times.size(), 7u);
}

// Version 2.0 has neither groups nor roots, all_gather no redop, and the last
// column is an error. The file's name says which test it is.
TEST(NcclTests, OldForms) {
  std::string ranks = "#   Rank  0 Pid   1320 on a device  0 [0x00] V100\n"
                      "#   Rank  1 Pid   1321 on b device  0 [0x00] V100\n";
  NcclRun run = only(
      ranks +
          "#       size         count    type     time   algbw   busbw  error  "
          "   time   algbw   busbw  error\n"
          "   262144         32768   float    16.57    15.82  7.91  0e+00  "
          "13.83"
          "    18.95  9.48  N/A\n",
      "runs/all_gather-v100.log");
  EXPECT_EQ(run.kind, CollectiveKind::AllGather);
  EXPECT_EQ(run.nodes, 2);
  EXPECT_EQ(run.perNode, 1);
  ASSERT_EQ(run.times.size(), 1u);
  EXPECT_DOUBLE_EQ(run.times[0].value, 16.57e-6);
}

TEST(NcclTests, PrefixesOfLaunchers) {
  std::string plain = table(row("1024", "30.5") + row("4096", "1e+06"));
  for (const char *prefix :
       {"0: ", " 0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "\t"}) {
    SCOPED_TRACE(prefix);
    std::string text;
    for (llvm::StringRef line : llvm::split(llvm::StringRef(plain), '\n'))
      text += prefix + line.str() + "\r\n";
    NcclRun run = only(text);
    ASSERT_EQ(run.times.size(), 2u);
    EXPECT_DOUBLE_EQ(run.times[1].value, 1);
  }
}

// Other lines between rows, sizes of nothing, values that were not checked,
// a timestamp, and statistics of iterations.
TEST(NcclTests, RowsAmongOtherLines) {
  NcclRun run =
      only(table("a:7:8 [0] NCCL INFO Channel 00\n" + row("0", "5.70") +
                 row("1024", "30.5", "N/A") + "\n" + row("2048", "31.5")));
  ASSERT_EQ(run.times.size(), 2u);
  EXPECT_EQ(run.times[0].bytes, 1024);
  std::string stamped = table(row("1024", "30.5"));
  stamped = replaced(stamped, "#wrong\n", "#wrong timestamp\n");
  stamped.insert(stamped.size() - 1, "  2026-11-29 14:02:11");
  EXPECT_EQ(only(stamped).times.size(), 1u);
  std::string heading = "# size count type redop root time algbw busbw #wrong "
                        "i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min "
                        "i_max i_p99 i_cv%\n";
  NcclRun each = only(rankLines() + heading +
                      "1024 256 float sum -1 30.5 0.02 0.03 0 29 32 32 1.5 "
                      "30.6 0.02 0.03 0 29 32 32 1.5\n");
  EXPECT_DOUBLE_EQ(each.times.at(0).value, 30.5e-6);
}

// A line may name the test better than the file does. Without a last line, the
// next run's first line ends a table.
TEST(NcclTests, SeveralRunsOfAFile) {
  std::string text = "$ mpirun -np 4 ./build/all_gather_perf_mpi -g 1\n" +
                     table(row("1024", "30")) +
                     "# Avg bus bandwidth    : 0.1 \n"
                     "# Collective test starting: broadcast_perf\n" +
                     table(row("1024", "31")) +
                     "# Collective test starting: reduce_scatter_perf\n" +
                     table(row("1024", "32") + row("1024", "34")) +
                     "# Avg bus bandwidth    : 0.1 \n"
                     "# Collective test concluded: reduce_scatter_perf\n" +
                     table(row("1024", "33"));
  auto runs = llvm::cantFail(read(text));
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].kind, CollectiveKind::AllGather);
  EXPECT_EQ(runs[1].kind, CollectiveKind::ReduceScatter);
  EXPECT_EQ(runs[1].times.size(), 2u);
  EXPECT_EQ(runs[2].kind, CollectiveKind::AllReduce);
}

// NCCL_TESTS_SPLIT=MOD2 on two hosts of two: two groups of a rank on each.
TEST(NcclTests, GroupsAtOnce) {
  std::string text = table(row("1024", "30"));
  for (const char *rank : {"Rank  1 Group  0", "Rank  3 Group  0"})
    text = replaced(text, rank, std::string(rank, 15) + "1");
  NcclRun run = only(text);
  EXPECT_EQ(run.groups, 2);
  EXPECT_EQ(run.perNode, 1);
  EXPECT_EQ(run.nodes, 2);
}

TEST(NcclTests, Refusals) {
  std::string good = table(row("1024", "30.5"));
  EXPECT_EQ(refusal(good), "");
  for (auto [text, message] : std::vector<std::pair<std::string, const char *>>{
           {"", "all_reduce.txt: has no table of nccl-tests"},
           {std::string("\0\xff\n#", 4), "has no table of nccl-tests"},
           {heading + row("1024", "30"),
            "all_reduce.txt:1: no line 'Rank 0 ... on HOST device 0' before"},
           {rankLines() + heading, ":7: the table has no rows"},
           {good + "  4096  1024  float  sum",
            ":9: the row has 4 columns, and the heading in line 7 has 13"},
           {good + "4096 1024 float sum -1 30 1 1 0 30 1 1 0 7\n",
            ":9: the row has 14 columns"},
           {table(row("1024", "N/A")), "expected a time above 0 us, not 'N/A'"},
           {table(row("1024", "nan")), "expected a time above 0 us, not 'nan'"},
           {table(row("1024", "-3")), "expected a time above 0 us, not '-3'"},
           {table(row("1024", "0.00")), "not '0.00'"},
           {table(row("99999999999999999999", "3")),
            "expected a size in bytes, not '99999999999999999999'"},
           {table(row("1024", "30", "17")), "the column #wrong has 17"},
           {table(row("1024", "30", "x")), "the column #wrong has x"},
           {good + "# Out of bounds values : 9 FAILED\n", "wrong values"},
           {rankLines() + "# size count type cputime algbw busbw #wrong\n",
            ":7: cputime is the host's time; run nccl-tests without -C"},
           {rankLines() + "# size count type ms algbw busbw #wrong\n",
            "expected a column 'time', in microseconds"},
           {replaced(good, "Rank  1", "Rank  0"),
            "rank 0 is there twice: each process ran alone"},
           {replaced(good, "Rank  1", "Rank  7"), "have 4 ranks, but a rank 7"},
           {replaced(good, "on      b", "on      a"),
            "use equally many on each"},
           {replaced(good, "device  0", "dev  0"), "keep the line whole"},
           {replaced(good, "Rank  1", "Rank  x"), "keep the line whole"},
           {"#  Rank  0 Pid 7 on a device 0 [0x1b] V100\n" + heading +
                row("1024", "30"),
            "the table is of one rank"},
           {"# Collective test starting: broadcast_perf\n" + good,
            "has tables of broadcast only; expected one of all_reduce"},
           {"# Collective test starting: all_gather_perf\n" + rankLines() +
                heading +
                "1048576 262144 float sum -1 10.0 104.86 157.29 0 10.0 104.86 "
                "157.29 0\n",
            "busbw is 1.50 times algbw; all_gather of 4 ranks has 0.75"}}) {
    SCOPED_TRACE(message);
    EXPECT_THAT(refusal(text), HasSubstr(message));
  }
  for (const char *name : {"job-1187.out", "all_reduce-all_gather.txt"})
    EXPECT_THAT(refusal(good, name), HasSubstr("name the file after it"));
  EXPECT_THAT(refusal(good, "alltoallv.txt"), HasSubstr("alltoallv only"));
}

// A file that is cut anywhere is read up to there or refused at a place.
TEST(NcclTests, CutAnywhere) {
  std::string text = ncclText("all_reduce.txt");
  size_t whole = 0, refused = 0;
  for (size_t length = 0; length < text.size(); length += 7) {
    auto runs = read(text.substr(0, length));
    if (runs) {
      ++whole;
      EXPECT_LE(runs->front().times.size(), 11u);
      EXPECT_EQ(runs->front().perNode, 8);
      continue;
    }
    ++refused;
    EXPECT_THAT(llvm::toString(runs.takeError()), StartsWith("all_reduce.txt"));
  }
  EXPECT_GT(whole, 10u);
  EXPECT_GT(refused, 200u);
}
