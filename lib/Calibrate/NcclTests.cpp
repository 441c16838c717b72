// Reads tables of nccl-tests, old and new forms. Lines that belong to no table
// are passed over, because logs have many of them.
#include "tpsp/Calibrate/NcclTests.h"

#include "tpsp/Schedule/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

using namespace tpsp;
using namespace tpsp::calibration;

namespace {

/// The tests whose collectives programs use.
constexpr std::pair<const char *, CollectiveKind> tests[] = {
    {"all_reduce", CollectiveKind::AllReduce},
    {"all_gather", CollectiveKind::AllGather},
    {"reduce_scatter", CollectiveKind::ReduceScatter},
    {"alltoall", CollectiveKind::AllToAll},
    {"sendrecv", CollectiveKind::Permute}};

std::string testNames() {
  std::string names;
  for (auto [name, kind] : tests)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::optional<CollectiveKind> kindOfTest(llvm::StringRef name) {
  for (auto [test, kind] : tests)
    if (name == test)
      return kind;
  return std::nullopt;
}

/// The test that a line names, as in ./build/all_reduce_perf_mpi; "" if none.
llvm::StringRef testIn(llvm::StringRef line) {
  size_t end = line.find("_perf");
  if (end == llvm::StringRef::npos)
    return "";
  llvm::StringRef before = line.take_front(end);
  size_t begin = before.find_last_not_of("abcdefghijklmnopqrstuvwxyz_");
  return begin == llvm::StringRef::npos ? before : before.substr(begin + 1);
}

/// The line without what a launcher puts before it: Slurm's "3: ", Open MPI's
/// "[1,3]<stdout>:".
llvm::StringRef withoutPrefix(llvm::StringRef line) {
  line = line.trim();
  llvm::StringRef rest = line;
  if (rest.consume_front("[")) {
    size_t end = rest.find("<stdout>");
    if (end < 20)
      return rest.substr(end + 8).ltrim(": ");
    return line;
  }
  rest = rest.drop_while(llvm::isDigit);
  return rest.size() < line.size() && rest.consume_front(":") ? rest.ltrim()
                                                              : line;
}

llvm::SmallVector<llvm::StringRef> fieldsOf(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef> fields;
  llvm::SplitString(line, fields, " \t");
  return fields;
}

class NcclReader {
public:
  explicit NcclReader(llvm::StringRef origin) : origin(origin) {}

  llvm::Expected<std::vector<NcclRun>> read(llvm::StringRef text) {
    while (!text.empty() && problem.empty()) {
      llvm::StringRef line;
      std::tie(line, text) = text.split('\n');
      ++number;
      readLine(withoutPrefix(line));
    }
    endTable();
    if (problem.empty() && runs.empty())
      problem = origin + ": " + nothingFound();
    if (!problem.empty())
      return llvm::createStringError(problem);
    return std::move(runs);
  }

private:
  /// A rank's group and host.
  struct Rank {
    int64_t group;
    std::string host;
  };

  void refuse(const llvm::Twine &message) { refuseAt(number, message); }
  void refuseAt(int64_t line, const llvm::Twine &message) {
    if (problem.empty())
      problem = (origin + ":" + llvm::Twine(line) + ": " + message).str();
  }

  std::string nothingFound() const {
    if (!skipped.empty())
      return "has tables of " + llvm::join(skipped, ", ") +
             " only; expected one of " + testNames();
    return "has no table of nccl-tests; expected a line '# size count type ... "
           "time algbw busbw ...' and rows under it (" +
           testNames() + ")";
  }

  void readLine(llvm::StringRef line) {
    llvm::StringRef rest = line;
    if (!rest.consume_front("#")) {
      bool isRow = !line.empty() && llvm::isDigit(line.front());
      if (columns.empty() || !isRow)
        return noteTest(line);
      return readRow(fieldsOf(line));
    }
    llvm::SmallVector<llvm::StringRef> fields = fieldsOf(rest);
    rest = rest.ltrim();
    if (rest.starts_with("nThread") || rest.starts_with("Using devices"))
      beginRanks();
    else if (rest.starts_with("Rank "))
      readRank(fields);
    else if (fields.size() > 6 && fields[0] == "size" && fields[1] == "count")
      beginTable(fields);
    else if (rest.starts_with("Out of bounds values") &&
             rest.ends_with("FAILED"))
      refuse("the run computed wrong values, so its times mean nothing; repair "
             "it, or remove its table");
    else if (rest.starts_with("Avg bus bandwidth"))
      endTable();
    else if (!rest.contains("concluded"))
      noteTest(rest);
  }

  void noteTest(llvm::StringRef line) {
    llvm::StringRef test = testIn(line);
    if (test.empty())
      return;
    endTable();
    named = test.str();
  }

  void beginRanks() {
    endTable();
    ranks.clear();
  }

  /// Reads "Rank  3 Group  0 Pid  17 on   node1 device  3 [0x8d] NVIDIA ...".
  /// Old forms have no group.
  void readRank(llvm::ArrayRef<llvm::StringRef> fields) {
    int64_t rank = 0, group = 0;
    const auto *on = llvm::find(fields, "on");
    bool isRank = fields.size() > 2 && !fields[1].getAsInteger(10, rank) &&
                  fields.end() - on > 2 && on[2] == "device";
    if (isRank && fields[2] == "Group")
      isRank = fields.size() > 3 && !fields[3].getAsInteger(10, group);
    if (!isRank)
      return refuse("expected 'Rank 0 ... on HOST device 0', not '" +
                    llvm::join(fields, " ") + "'; keep the line whole");
    if (!ranks.try_emplace(rank, Rank{group, on[1].str()}).second)
      refuse("rank " + llvm::Twine(rank) +
             " is there twice: each process ran alone; build nccl-tests with "
             "MPI=1");
  }

  /// The name of the test: by the last line that names one, or by the file.
  std::string testOfTable() const {
    if (!named.empty())
      return named;
    std::string file = llvm::sys::path::filename(origin).lower();
    std::string found;
    for (auto [test, kind] : tests)
      if (llvm::StringRef(file).contains(test))
        found = found.empty() ? test : "?";
    return llvm::StringRef(file).contains("alltoallv") ? "alltoallv" : found;
  }

  void beginTable(llvm::ArrayRef<llvm::StringRef> fields) {
    endTable();
    std::string test = testOfTable();
    isSkipped = !test.empty() && test != "?" && !kindOfTest(test);
    columns.assign(fields.begin(), fields.end());
    run = NcclRun();
    tableLine = number;
    run.origin = (origin + ":" + llvm::Twine(number)).str();
    if (isSkipped) {
      skipped.insert(test);
      return;
    }
    if (test.empty() || test == "?")
      return refuse("nothing says which test this table is of; name the file "
                    "after it, as in all_reduce.txt (" +
                    testNames() + ")");
    run.kind = *kindOfTest(test);
    if (!llvm::is_contained(columns, "time"))
      return refuse(llvm::is_contained(columns, "cputime")
                        ? "cputime is the host's time; run nccl-tests without "
                          "-C"
                        : "expected a column 'time', in microseconds");
    findPlace();
  }

  /// Sets the run's nodes, ranks of a node and groups.
  void findPlace() {
    if (ranks.empty())
      return refuse("no line 'Rank 0 ... on HOST device 0' before this table "
                    "says on how many nodes it ran; keep the output whole");
    std::map<int64_t, std::map<std::string, int64_t>> groups;
    for (const auto &[rank, each] : ranks)
      ++groups[each.group][each.host];
    int64_t last = ranks.rbegin()->first;
    if (last + 1 != int64_t(ranks.size()))
      return refuse("the lines before this table have " +
                    llvm::Twine(ranks.size()) + " ranks, but a rank " +
                    llvm::Twine(last) + "; keep the output whole");
    const auto &hosts = groups.begin()->second;
    run.groups = int64_t(groups.size());
    run.nodes = int64_t(hosts.size());
    run.perNode = hosts.begin()->second;
    for (const auto &[group, itsHosts] : groups)
      for (const auto &[host, count] : itsHosts)
        if (count != run.perNode || int64_t(itsHosts.size()) != run.nodes)
          return refuse("host '" + host + "' has " + llvm::Twine(count) +
                        " ranks of a group, and '" + hosts.begin()->first +
                        "' has " + llvm::Twine(run.perNode) +
                        "; use equally many on each");
    if (run.nodes * run.perNode == 1)
      refuse("the table is of one rank, which sends nothing; run more ranks, "
             "with nccl-tests built with MPI=1 for several processes");
  }

  llvm::StringRef field(llvm::ArrayRef<llvm::StringRef> fields,
                        llvm::StringRef column) const {
    auto found = llvm::find(columns, column);
    return found == columns.end() ? "" : fields[found - columns.begin()];
  }

  void readRow(llvm::ArrayRef<llvm::StringRef> fields) {
    if (isSkipped)
      return;
    // A timestamp may be two words.
    bool hasMore = columns.back() == "timestamp";
    if (fields.size() < columns.size() ||
        (fields.size() > columns.size() && !hasMore))
      return refuse("the row has " + llvm::Twine(fields.size()) +
                    " columns, and the heading in line " +
                    llvm::Twine(tableLine) + " has " +
                    llvm::Twine(columns.size()) + "; remove the row");
    int64_t bytes = 0;
    double microseconds = 0;
    if (fields[0].getAsInteger(10, bytes))
      return refuse("expected a size in bytes, not '" + fields[0] + "'");
    if (field(fields, "time").getAsDouble(microseconds) ||
        !(microseconds > 0 && microseconds < 1e12))
      return refuse("expected a time above 0 us, not '" +
                    field(fields, "time") + "'; remove the row");
    checkValues(fields);
    checkKind(fields);
    // Sizes that the ranks do not divide are rounded down, even to nothing.
    if (bytes > 0)
      run.times.push_back({double(bytes), microseconds * 1e-6});
  }

  /// Refuses a row with wrong values. Old forms have an error instead, which
  /// their last lines judge.
  void checkValues(llvm::ArrayRef<llvm::StringRef> fields) {
    llvm::StringRef wrong = field(fields, "#wrong");
    double count = 0;
    if (!wrong.empty() && wrong != "N/A" &&
        (wrong.getAsDouble(count) || count != 0))
      refuse("the column #wrong has " + wrong +
             ": the run computed wrong values; repair it, or remove the row");
  }

  /// Refuses a row whose bandwidths are not those of the kind.
  void checkKind(llvm::ArrayRef<llvm::StringRef> fields) {
    double algorithm = 0, bus = 0;
    if (field(fields, "algbw").getAsDouble(algorithm) ||
        field(fields, "busbw").getAsDouble(bus) || std::min(algorithm, bus) < 1)
      return; // Two decimals say too little.
    double expected = busFactor(run.kind, run.nodes * run.perNode);
    if (std::abs(bus / algorithm / expected - 1) > 0.03)
      refuse(llvm::formatv("busbw is {0:f2} times algbw; {1} of {2} ranks has "
                           "{3:f2}: check which test this table is of",
                           bus / algorithm, nameOf(run.kind),
                           run.nodes * run.perNode, expected)
                 .str());
  }

  void endTable() {
    if (!columns.empty() && !isSkipped && problem.empty()) {
      if (run.times.empty())
        refuseAt(tableLine, "the table has no rows; the run broke off");
      else
        runs.push_back(std::move(run));
    }
    if (!columns.empty())
      named.clear();
    columns.clear();
  }

  const std::string origin;
  int64_t number = 0;
  std::string problem;
  /// The last test that a line named since the last table.
  std::string named;
  /// The ranks of the run, by number.
  std::map<int64_t, Rank> ranks;
  /// The columns of the table that is read, its first line and its run. Without
  /// columns no table is read.
  std::vector<std::string> columns;
  int64_t tableLine = 0;
  NcclRun run;
  bool isSkipped = false;
  std::set<std::string> skipped;
  std::vector<NcclRun> runs;
};

} // namespace

llvm::Expected<std::vector<NcclRun>>
tpsp::calibration::readNcclTests(llvm::StringRef text, llvm::StringRef origin) {
  return NcclReader(origin).read(text);
}
