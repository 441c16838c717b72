#include "NcclLog.h"

#include "RecordedNames.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

/// A longer line is no line of NCCL.
static constexpr size_t longestLine = 1 << 14;

/// Reads a line. The rest of a longer one is passed over.
static bool nextLine(std::istream &file, std::string &line) {
  line.clear();
  for (int c = file.get(); c != EOF; c = file.get()) {
    if (c == '\n')
      return true;
    if (line.size() < longestLine)
      line += char(c);
  }
  return !line.empty();
}

/// The place of NCCL's own text in a line; npos if it has none.
static size_t textIn(const std::string &line) {
  static const std::string marker = " NCCL INFO ";
  size_t at = line.find(marker);
  return at == std::string::npos ? at : at + marker.size();
}

bool tpsp::check::isNcclLog(const std::string &path) {
  rt::FileHandle handle;
  int64_t bytes = 0;
  if (!rt::openToRead(path, handle, bytes).ok())
    return false;
  std::ifstream file(path, std::ios::binary);
  int first = file.peek();
  while (first != EOF && std::isspace(first)) {
    file.get();
    first = file.peek();
  }
  if (first == '{')
    return false;
  std::string line;
  while (nextLine(file, line))
    if (textIn(line) != std::string::npos)
      return true;
  return false;
}

/// "host:pid" of "host:pid:tid [0] NCCL INFO ..."; empty if a line has none.
static std::string processIn(const std::string &line) {
  size_t device = line.rfind(" [", line.find(" NCCL INFO "));
  if (device == std::string::npos)
    return "";
  size_t begin = line.rfind(' ', device - 1);
  begin = begin == std::string::npos ? 0 : begin + 1;
  std::string token = line.substr(begin, device - begin);
  size_t thread = token.rfind(':');
  if (thread == std::string::npos || token.find(':') == thread)
    return "";
  return token.substr(0, thread);
}

static std::optional<int64_t> numberIn(const std::string &text) {
  int64_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr int64_t most = int64_t(1) << 50;
  if (error != std::errc() || end != text.data() + text.size() || number < 0 ||
      number > most)
    return std::nullopt;
  return number;
}

/// Pairs of words, "count 18816", and "[nranks=16]".
static std::map<std::string, std::string> fieldsOf(const std::string &text) {
  std::map<std::string, std::string> fields;
  std::istringstream words(text);
  std::string word, before;
  while (words >> word) {
    size_t equals = word.find('=');
    if (word.front() == '[' && word.back() == ']' &&
        equals != std::string::npos) {
      fields.emplace(word.substr(1, equals - 1),
                     word.substr(equals + 1, word.size() - equals - 2));
      before.clear();
    } else if (before.empty()) {
      before = word;
    } else {
      fields.emplace(std::move(before), word);
      before.clear();
    }
  }
  return fields;
}

static std::string textOf(const std::map<std::string, std::string> &fields,
                          const std::string &key) {
  auto found = fields.find(key);
  return found == fields.end() ? "" : found->second;
}

/// Sets a number; INVALID if a line lacks it.
static Status take(const std::map<std::string, std::string> &fields,
                   const std::string &key, int64_t &out) {
  std::optional<int64_t> number = numberIn(textOf(fields, key));
  if (!number)
    return rt::invalid("it has no number as '{}'; the log is cut, or lines of "
                       "several processes are mixed: let NCCL_DEBUG_FILE give "
                       "each process its own file",
                       key);
  out = *number;
  return {};
}

/// Sets the number of a communicator's ranks.
static Status takeSize(const std::map<std::string, std::string> &fields,
                       int64_t &out) {
  constexpr int64_t most = int64_t(1) << 20;
  TPSP_TRY(take(fields, "nranks", out));
  if (out < 1 || out > most)
    return rt::invalid("its communicator has {} ranks; known are 1 to {}", out,
                       most);
  return {};
}

/// The bytes of ncclDataType_t in nccl.h: int8, uint8, int32, uint32, int64,
/// uint64, float16, float32, float64, bfloat16, and two kinds of float8.
static int64_t bytesOfType(int64_t datatype) {
  constexpr int64_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return datatype < int64_t(std::size(bytes)) ? bytes[datatype] : 0;
}

/// ncclMax and ncclMin of ncclRedOp_t in nccl.h; 0 is the sum, 4 the mean.
static bool isExtremum(int64_t op) { return op == 2 || op == 3; }

NcclLogs::Process &NcclLogs::processOf(const std::string &name,
                                       const std::string &path, int64_t place) {
  auto [found, isNew] = byName.try_emplace(name, processes.size());
  if (isNew) {
    processes.emplace_back();
    processes.back().name = name;
    processes.back().path = path;
    processes.back().place = place;
  }
  return processes[found->second];
}

Status NcclLogs::addCommunicator(const Fields &fields, Process &process) {
  Communicator made;
  TPSP_TRY(take(fields, "rank", made.rank));
  TPSP_TRY(takeSize(fields, made.size));
  if (made.rank >= made.size)
    return rt::invalid("its rank is {} of {}", made.rank, made.size);
  std::string id = textOf(fields, "commId"), parent = textOf(fields, "parent");
  auto known = process.byAddress.find(parent);
  if (!id.empty()) {
    made.group = id;
    // Groups of one id have one color each in some versions.
    if (!parent.empty())
      made.group += "/" + textOf(fields, "color");
  } else if (known != process.byAddress.end()) {
    const std::string &above = process.communicators[known->second].group;
    std::string count = textOf(fields, "splitCount");
    if (count.empty())
      count = textOf(fields, "childCount");
    if (!above.empty() && !count.empty())
      made.group =
          fmt::format("{}/{}/{}", above, count, textOf(fields, "color"));
  }
  process.byAddress[textOf(fields, "comm")] = process.communicators.size();
  process.communicators.push_back(std::move(made));
  return {};
}

Status NcclLogs::addCall(const std::string &name, const Fields &fields,
                         Process &process) {
  const CallName *meaning = meaningOf(lettersOf(name));
  if (!meaning) {
    ++process.others;
    return {};
  }
  int64_t count = 0, datatype = 0, op = 0, root = 0, size = 0;
  TPSP_TRY(take(fields, "count", count));
  TPSP_TRY(take(fields, "datatype", datatype));
  TPSP_TRY(take(fields, "op", op));
  TPSP_TRY(take(fields, "root", root));
  TPSP_TRY(takeSize(fields, size));
  std::string address = textOf(fields, "comm");
  auto [found, isNew] =
      process.byAddress.try_emplace(address, process.communicators.size());
  if (isNew)
    process.communicators.push_back({"", -1, size});
  Call made;
  made.communicator = found->second;
  made.opCount = textOf(fields, "opCount");
  made.call.kind = meaning->kind;
  made.call.name = "nccl:" + name;
  made.call.groupSize = size;
  // A gather and a scatter count one rank's part, an exchange one peer's.
  bool isOfParts = meaning->kind &&
                   *meaning->kind != CollectiveKind::AllReduce &&
                   *meaning->kind != CollectiveKind::Transfer;
  if (isOfParts && __builtin_mul_overflow(count, size, &count))
    return rt::invalid("its count is too large");
  made.call.elements = count;
  made.call.elementBytes = bytesOfType(datatype);
  made.call.isExtremum = isExtremum(op);
  made.call.isReceive = lettersOf(name).find("recv") != std::string::npos;
  if (meaning->kind == CollectiveKind::Transfer)
    made.peer = root;
  process.calls.push_back(std::move(made));
  return {};
}

Status NcclLogs::read(const std::string &path, int64_t place) {
  paths.push_back(path);
  std::ifstream file(path, std::ios::binary);
  std::string line;
  for (int64_t number = 1; nextLine(file, line); ++number) {
    size_t at = textIn(line);
    if (at == std::string::npos)
      continue;
    std::string text = line.substr(at);
    size_t call = text.find(": opCount "), comm = text.find("comm 0x");
    bool isCall = call != std::string::npos;
    if (!isCall && (comm == std::string::npos ||
                    text.find("Init COMPLETE") == std::string::npos))
      continue;
    std::string process = processIn(line);
    Status status;
    if (process.empty())
      status = rt::invalid("it does not begin with host:pid:tid");
    else if (isCall)
      status = addCall(text.substr(0, call), fieldsOf(text.substr(call + 2)),
                       processOf(process, path, place));
    else
      status = addCommunicator(fieldsOf(text.substr(comm)),
                               processOf(process, path, place));
    if (!status.ok())
      return rt::invalid("cannot read '{}': line {}: {}", path, number,
                         status.message());
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Torch makes communicators when they are first used. So the largest may be
/// one of some ranks.
bool NcclLogs::findRanksInWorld() {
  std::map<std::string, size_t> members;
  std::map<std::string, int64_t> sizes;
  for (const Process &process : processes) {
    std::set<std::string> own;
    for (const Communicator &each : process.communicators)
      if (!each.group.empty() && own.insert(each.group).second) {
        ++members[each.group];
        sizes[each.group] = each.size;
      }
  }
  for (const auto &[group, count] : members) {
    if (count != processes.size() || sizes[group] != numRanks)
      continue;
    for (Process &process : processes)
      for (const Communicator &each : process.communicators)
        if (each.group == group)
          process.rank = each.rank;
    return true;
  }
  return false;
}

/// The last number in the name of a process's file. NCCL's own names,
/// "nccl.%h.%p.log", have the process's number, which is no rank.
static std::optional<int64_t> rankInNameOf(const std::string &path,
                                           const std::string &process) {
  std::optional<int64_t> number = rankInName(path);
  if (number == numberIn(process.substr(process.rfind(':') + 1)))
    return std::nullopt;
  return number;
}

Status NcclLogs::findRanksByFiles(std::vector<std::string> &notes) {
  std::map<std::string, size_t> perFile;
  for (const Process &process : processes)
    if (++perFile[process.path] > 1)
      return rt::invalid(
          "'{}' has several processes, and no communicator of all {} ranks, "
          "so that their ranks are not known; log with "
          "NCCL_DEBUG_SUBSYS=INIT,COLL from the start, or give each rank a "
          "file with its number in the name",
          process.path, numRanks);
  std::set<int64_t> inNames;
  for (Process &process : processes) {
    process.rank = rankInNameOf(process.path, process.name).value_or(-1);
    if (process.rank >= 0)
      inNames.insert(process.rank);
  }
  // Names may have numbers of other things.
  constexpr int64_t mostRanks = 4096;
  bool isByName =
      inNames.size() == processes.size() && *inNames.rbegin() < mostRanks;
  for (Process &process : processes)
    if (!isByName)
      process.rank = process.place;
  notes.push_back(fmt::format(
      "no communicator of NCCL's log has all {} ranks: a rank's number is {}",
      numRanks,
      isByName ? "the last one in its file's name"
               : "the place of its file among the given ones"));
  return {};
}

Status NcclLogs::findRanks(std::vector<std::string> &notes) {
  return findRanksInWorld() ? Status() : findRanksByFiles(notes);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Sends to all ranks of a communicator and receives from all of them, in one
/// group of calls, are an all_to_all, as torch makes it.
Status NcclLogs::joinSends(Process &process) {
  std::vector<Call> joined;
  std::vector<Call> &calls = process.calls;
  for (size_t i = 0; i < calls.size();) {
    size_t end = i;
    std::set<int64_t> to, from;
    int64_t elements = 0;
    bool isOnce = true;
    while (end < calls.size() &&
           calls[end].call.kind == CollectiveKind::Transfer &&
           calls[end].communicator == calls[i].communicator &&
           calls[end].opCount == calls[i].opCount) {
      const Call &each = calls[end++];
      isOnce &= (each.call.isReceive ? from : to).insert(each.peer).second;
      if (!each.call.isReceive &&
          __builtin_add_overflow(elements, each.call.elements, &elements))
        return rt::invalid("'{}': its sends to all ranks have too many "
                           "elements",
                           process.path);
    }
    auto size = size_t(process.communicators[calls[i].communicator].size);
    if (end > i && isOnce && to.size() == size && from.size() == size) {
      Call whole = calls[i];
      whole.call.kind = CollectiveKind::AllToAll;
      whole.call.name = "nccl:Send, Recv to and from all";
      whole.call.elements = elements;
      whole.call.isReceive = false;
      whole.peer = -1;
      joined.push_back(std::move(whole));
      i = end;
    } else {
      for (end = std::max(end, i + 1); i < end; ++i)
        joined.push_back(std::move(calls[i]));
    }
  }
  calls = std::move(joined);
  return {};
}

std::map<std::string, std::map<int64_t, int64_t>>
NcclLogs::ranksOfGroups() const {
  std::map<std::string, std::map<int64_t, int64_t>> groups;
  for (const Process &process : processes)
    for (const Communicator &each : process.communicators)
      if (!each.group.empty())
        groups[each.group][each.rank] = process.rank;
  return groups;
}

Status NcclLogs::finish(std::vector<Recording> &out) {
  if (paths.empty())
    return {};
  std::vector<std::string> notes;
  size_t count = 0;
  for (const Process &process : processes)
    count += process.calls.size();
  if (count == 0)
    return rt::invalid("'{}' has lines of NCCL, and no collective; log with "
                       "NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL",
                       paths.front());
  TPSP_TRY(findRanks(notes));
  std::map<std::string, std::map<int64_t, int64_t>> groups = ranksOfGroups();
  bool isPartial = false;
  for (Process &process : processes) {
    TPSP_TRY(joinSends(process));
    Recording &recording = out.emplace_back();
    recording.path = process.path;
    recording.rank = process.rank;
    recording.others = process.others;
    for (Call &each : process.calls) {
      const Communicator &own = process.communicators[each.communicator];
      auto found = groups.find(own.group);
      bool isKnown = found != groups.end() &&
                     int64_t(found->second.size()) == own.size &&
                     found->second.rbegin()->first == own.size - 1;
      each.call.peer = isKnown ? each.peer : -1;
      if (isKnown) {
        std::vector<int64_t> ranks;
        for (const auto &[number, rank] : found->second)
          ranks.push_back(rank);
        setGroup(std::move(ranks), each.call);
      }
      isPartial |= !isKnown;
      recording.calls.push_back(std::move(each.call));
    }
    process.calls = {};
  }
  if (isPartial)
    notes.push_back("the logs do not have all ranks of each communicator, or "
                    "lack its Init COMPLETE: such a group is known by its size "
                    "alone");
  out.back().notes = std::move(notes);
  return {};
}
