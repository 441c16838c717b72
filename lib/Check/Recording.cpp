#include "tpsp/Check/Traces.h"

#include "BusySpans.h"
#include "JsonElements.h"
#include "NcclLog.h"
#include "RecordedNames.h"

#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;
using Json = nlohmann::json;

namespace {

constexpr CallName callNames[] = {
    {"reducescatter", CollectiveKind::ReduceScatter},
    {"allreduce", CollectiveKind::AllReduce},
    {"allgather", CollectiveKind::AllGather},
    {"alltoall", CollectiveKind::AllToAll},
    {"send", CollectiveKind::Transfer},
    {"recv", CollectiveKind::Transfer},
    {"reduce", std::nullopt},
    {"gather", std::nullopt},
    {"scatter", std::nullopt},
};

int64_t bytesOfType(const std::string &name) {
  static const std::map<std::string, int64_t> bytes = {
      {"float", 4}, {"float32", 4}, {"double", 8},   {"float64", 8},
      {"half", 2},  {"float16", 2}, {"bfloat16", 2}, {"int", 4},
      {"int32", 4}, {"long", 8},    {"int64", 8},    {"byte", 1},
      {"char", 1},  {"bool", 1},    {"short", 2}};
  auto found = bytes.find(lettersOf(name));
  return found == bytes.end() ? 0 : found->second;
}

/// The numbers in a text, in their order.
std::vector<int64_t> numbersIn(const std::string &text) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i])))
      continue;
    size_t end = i;
    int64_t number = 0;
    constexpr int64_t most = 1 << 20;
    while (end < text.size() &&
           std::isdigit(static_cast<unsigned char>(text[end])))
      number = std::min(most, number * 10 + (text[end++] - '0'));
    numbers.push_back(number);
    i = end;
  }
  return numbers;
}

/// The ranks of "[0, 1, 2]", in the group's order; none if the list is
/// abridged.
std::vector<int64_t> ranksOf(const std::string &text) {
  if (text.find("...") != std::string::npos)
    return {};
  return numbersIn(text);
}

std::string textOf(const Json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : "";
}

/// A number; -1 if there is none.
double numberOf(const Json &object, const char *key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number())
    return -1;
  double number = found->get<double>();
  return std::isfinite(number) ? number : -1;
}

/// A number from 0 up; 0 if there is none.
int64_t countOf(const Json &object, const char *key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number())
    return 0;
  constexpr double most = 9e15;
  return int64_t(std::clamp(found->get<double>(), 0.0, most));
}

//===--- Flight recorder -------------------------------------------------===//

/// The elements of a list of shapes; -1 if it is something else.
int64_t elementsOf(const Json &shapes) {
  if (!shapes.is_array())
    return -1;
  int64_t sum = 0;
  for (const Json &shape : shapes) {
    if (!shape.is_array())
      return -1;
    int64_t product = 1;
    for (const Json &extent : shape)
      if (!extent.is_number_integer() || extent.get<int64_t>() < 0 ||
          __builtin_mul_overflow(product, extent.get<int64_t>(), &product))
        return -1;
    if (__builtin_add_overflow(sum, product, &sum))
      return -1;
  }
  return sum;
}

/// The first frame that is not torch's own.
std::string userLine(const Json &entry) {
  auto frames = entry.find("frames");
  if (frames == entry.end() || !frames->is_array())
    return "";
  for (const Json &frame : *frames) {
    std::string file = frame.is_object() ? textOf(frame, "filename") : "";
    if (file.empty() || file.find("torch/") != std::string::npos)
      continue;
    auto line = frame.find("line");
    return line != frame.end() && line->is_number_integer()
               ? fmt::format("{}:{}", file, line->get<int64_t>())
               : file;
  }
  return "";
}

/// Reads entries as they come; groups may be declared after them.
class FlightRecorder {
public:
  explicit FlightRecorder(Recording &out) : out(out) {}

  Status readEntry(const Json &entry) {
    Status status = addEntry(entry);
    if (!status.ok())
      return rt::invalid("entry {}: {}", number, status.message());
    ++number;
    return {};
  }

  void readGroups(const Json &config) {
    if (!config.is_object())
      return;
    for (const auto &[name, group] : config.items())
      if (group.is_object())
        groups[name] = ranksOf(textOf(group, "ranks"));
  }

  void finish() {
    for (size_t i = 0; i < out.calls.size(); ++i) {
      auto found = groups.find(groupNames[i]);
      if (own[i].empty() && found != groups.end())
        own[i] = found->second;
      setGroup(own[i], out.calls[i]);
    }
  }

private:
  Status addEntry(const Json &entry) {
    if (!entry.is_object())
      return rt::invalid("it is no object");
    std::string name = textOf(entry, "profiling_name");
    if (name.empty())
      return rt::invalid("it has no profiling_name");
    if (number == 0)
      out.lost = countOf(entry, "record_id");
    const CallName *meaning = meaningOf(lettersOf(name));
    if (!meaning) {
      ++out.others;
      return {};
    }
    RecordedCall call;
    call.kind = meaning->kind;
    call.name = name;
    call.isReceive = name.find("recv") != std::string::npos;
    bool isOutput = call.isReceive ||
                    (call.kind && *call.kind == CollectiveKind::AllGather);
    TPSP_TRY(readSizes(entry, isOutput ? "output" : "input", call));
    if (call.kind == CollectiveKind::Transfer)
      readPeer(name, call);
    readWords(entry, call);
    // Only with TORCH_NCCL_ENABLE_TIMING.
    double milliseconds = numberOf(entry, "duration_ms");
    if (milliseconds > 0)
      call.seconds = 1e-3 * milliseconds;
    call.line = userLine(entry);
    addGroup(entry, call);
    out.calls.push_back(std::move(call));
    return {};
  }

  static Status readSizes(const Json &entry, const std::string &side,
                          RecordedCall &call) {
    std::string key = side + "_sizes";
    call.elements = entry.contains(key) ? elementsOf(entry[key]) : -1;
    if (call.elements < 0)
      return rt::invalid("its {} are no list of shapes", key);
    auto types = entry.find(side + "_dtypes");
    if (types != entry.end() && types->is_array() && !types->empty() &&
        types->front().is_string())
      call.elementBytes = bytesOfType(types->front().get<std::string>());
    return {};
  }

  /// "nccl:send 0->1" and "nccl:recv 1<-0".
  static void readPeer(const std::string &name, RecordedCall &call) {
    std::vector<int64_t> ends = numbersIn(name);
    if (ends.size() >= 2)
      call.peer = ends.back();
  }

  /// Reads the fields that recordings of tpsp_torch have besides torch's.
  static void readWords(const Json &entry, RecordedCall &call) {
    std::string phase = textOf(entry, "phase");
    for (Phase each : {Phase::Forward, Phase::Backward})
      if (phase == nameOf(each))
        call.phase = each;
    std::string reduction = textOf(entry, "reduce_op");
    call.isExtremum = reduction == "max" || reduction == "min";
  }

  void addGroup(const Json &entry, RecordedCall &call) {
    std::string name;
    auto group = entry.find("process_group");
    if (group != entry.end() && group->is_array() && !group->empty()) {
      if (group->back().is_string())
        call.group = group->back().get<std::string>();
      if (group->front().is_string())
        name = group->front().get<std::string>();
    }
    groupNames.push_back(name);
    std::vector<int64_t> &ranks = own.emplace_back();
    auto list = entry.find("ranks");
    if (list == entry.end() || !list->is_array())
      return;
    for (const Json &rank : *list)
      if (rank.is_number_unsigned())
        ranks.push_back(int64_t(rank.get<uint64_t>() & 0xfffff));
  }

  Recording &out;
  size_t number = 0;
  std::map<std::string, std::vector<int64_t>> groups;
  /// By call: its group's name, and the ranks that the entry itself lists.
  std::vector<std::string> groupNames;
  std::vector<std::vector<int64_t>> own;
};

//===--- Chrome trace ----------------------------------------------------===//

/// Reads a profiler's events.
class ChromeEvents {
public:
  explicit ChromeEvents(Recording &out) : out(out) {}

  void readEvent(const Json &event) {
    if (!event.is_object())
      return;
    std::string name = textOf(event, "name");
    if (name.rfind("ProfilerStep#", 0) == 0)
      steps.insert(name);
    bool isCall = name == "record_param_comms";
    bool isKernel = name.rfind("nccl", 0) == 0;
    if (!isCall && !isKernel && textOf(event, "cat") == "kernel")
      busy.add(spanOf(event));
    auto args = event.find("args");
    if ((isCall || isKernel) && args != event.end() && args->is_object())
      readCall(*args, isCall, spanOf(event));
  }

  void readInfo(const Json &info) {
    if (info.is_object() && info.contains("rank") &&
        info["rank"].is_number_unsigned())
      out.rank = countOf(info, "rank");
  }

  /// Events of kernels serve only if there are none of calls.
  void finish() {
    for (size_t i = 0; i < kernels.size(); ++i)
      if (spans[i].end > spans[i].begin) {
        kernels[i].seconds = 1e-6 * (spans[i].end - spans[i].begin);
        kernels[i].exposedSeconds = 1e-6 * busy.outside(spans[i]);
      }
    if (!calls.empty())
      giveTimes();
    out.calls = calls.empty() ? std::move(kernels) : std::move(calls);
    out.steps = out.calls.empty() ? 0 : int64_t(steps.size());
  }

private:
  /// A call and its kernel have the same sizes and group. The kernels of such
  /// calls run in the order of the calls.
  void giveTimes() {
    auto keyOf = [](const RecordedCall &call) {
      return std::tuple(call.kind, lettersOf(call.name), call.elements,
                        call.elementBytes, call.ranks, call.group, call.peer);
    };
    std::vector<size_t> inTime(kernels.size());
    std::iota(inTime.begin(), inTime.end(), size_t(0));
    std::stable_sort(inTime.begin(), inTime.end(), [&](size_t a, size_t b) {
      return spans[a].begin < spans[b].begin;
    });
    std::map<decltype(keyOf(kernels[0])), std::vector<size_t>> alikeKernels;
    std::map<decltype(keyOf(kernels[0])), std::vector<size_t>> alikeCalls;
    for (size_t i : inTime)
      alikeKernels[keyOf(kernels[i])].push_back(i);
    for (size_t i = 0; i < calls.size(); ++i)
      alikeCalls[keyOf(calls[i])].push_back(i);
    for (const auto &[key, numbers] : alikeCalls) {
      const std::vector<size_t> &theirs = alikeKernels[key];
      for (size_t i = 0; theirs.size() == numbers.size() && i < theirs.size();
           ++i) {
        calls[numbers[i]].seconds = kernels[theirs[i]].seconds;
        calls[numbers[i]].exposedSeconds = kernels[theirs[i]].exposedSeconds;
      }
    }
  }

  /// When an event ran, in microseconds; empty if it does not say it.
  static BusySpans::Span spanOf(const Json &event) {
    double begin = numberOf(event, "ts"), length = numberOf(event, "dur");
    return {begin, begin >= 0 && length > 0 ? begin + length : begin};
  }

  void readCall(const Json &args, bool isCall, BusySpans::Span span) {
    std::string name = textOf(args, "Collective name");
    const CallName *meaning = meaningOf(lettersOf(name));
    if (!meaning) {
      out.others += isCall && !name.empty();
      return;
    }
    RecordedCall call;
    call.kind = meaning->kind;
    call.name = name;
    call.isReceive = name.find("recv") != std::string::npos;
    bool isOutput = call.isReceive ||
                    (call.kind && *call.kind == CollectiveKind::AllGather);
    call.elements =
        countOf(args, isOutput ? "Out msg nelems" : "In msg nelems");
    call.elementBytes = bytesOfType(textOf(args, "dtype"));
    const char *peer = call.isReceive ? "Src Rank" : "Dst Rank";
    if (call.kind == CollectiveKind::Transfer && args.contains(peer))
      call.peer = countOf(args, peer);
    setGroup(ranksOf(textOf(args, "Process Group Ranks")), call);
    if (call.ranks.empty())
      call.groupSize = countOf(args, "Group size");
    call.group = textOf(args, "Process Group Description");
    (isCall ? calls : kernels).push_back(std::move(call));
    if (!isCall)
      spans.push_back(span);
  }

  Recording &out;
  std::vector<RecordedCall> calls, kernels;
  /// When the kernels ran, and when others did.
  std::vector<BusySpans::Span> spans;
  BusySpans busy;
  std::set<std::string> steps;
};

//===--- Either ----------------------------------------------------------===//

Status readEither(const std::string &path, Recording &out) {
  FlightRecorder recorder(out);
  ChromeEvents chrome(out);
  bool hasEntries = false, hasEvents = false;
  JsonParts parts;
  parts.keys = {"entries", "traceEvents", "pg_config", "steps",
                "distributedInfo"};
  parts.element = [&](const std::string &key, const Json &element) -> Status {
    if (key == "entries")
      return recorder.readEntry(element);
    if (key == "traceEvents")
      chrome.readEvent(element);
    return {};
  };
  parts.value = [&](const std::string &key, const Json &value) -> Status {
    hasEntries |= key == "entries" && value.is_null();
    hasEvents |= key == "traceEvents" && value.is_null();
    if (key == "pg_config")
      recorder.readGroups(value);
    if (key == "distributedInfo")
      chrome.readInfo(value);
    if (key == "steps" && value.is_number_unsigned())
      out.steps = int64_t(std::min<uint64_t>(value.get<uint64_t>(), 1 << 20));
    return {};
  };
  TPSP_TRY(readJsonParts(path, parts));
  if (!hasEntries && !hasEvents)
    return rt::invalid("it has neither 'entries', as a flight recorder, nor "
                       "'traceEvents', as a profiler's trace");
  if (hasEvents)
    chrome.finish();
  else
    recorder.finish();
  return {};
}

} // namespace

std::string tpsp::check::lettersOf(const std::string &name) {
  std::string letters;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      letters += char(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

const CallName *tpsp::check::meaningOf(const std::string &letters) {
  for (const CallName &each : callNames)
    if (letters.find(each.word) != std::string::npos)
      return &each;
  return nullptr;
}

std::optional<int64_t> tpsp::check::rankInName(const std::string &path) {
  std::string stem = std::filesystem::path(path).stem().string();
  std::vector<int64_t> numbers = numbersIn(stem);
  constexpr int64_t most = 1 << 16;
  if (numbers.empty() || numbers.back() >= most)
    return std::nullopt;
  return numbers.back();
}

void tpsp::check::setGroup(std::vector<int64_t> order, RecordedCall &call) {
  // A peer is numbered within the group.
  if (call.peer >= 0 && call.peer < int64_t(order.size()))
    call.peer = order[call.peer];
  else if (!order.empty())
    call.peer = -1;
  call.groupSize = int64_t(order.size());
  std::sort(order.begin(), order.end());
  call.ranks = std::move(order);
}

Status tpsp::check::readRecording(const std::string &path, int64_t number,
                                  Recording &out) {
  out = {};
  out.path = path;
  out.rank = rankInName(path).value_or(number);
  Status status = readEither(path, out);
  if (!status.ok())
    return {status.code(),
            fmt::format("cannot read '{}': {}", path, status.message())};
  // A recording that says its steps may have none.
  if (out.calls.empty() && out.steps == 0)
    return rt::invalid("'{}' has no collective with sizes; record a step with "
                       "the flight recorder or the profiler (docs/Check.md)",
                       path);
  return {};
}

Status tpsp::check::readRecordings(const std::vector<std::string> &paths,
                                   int64_t numRanks,
                                   std::vector<Recording> &out) {
  NcclLogs logs(numRanks);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (isNcclLog(paths[i]))
      TPSP_TRY(logs.read(paths[i], int64_t(i)));
    else
      TPSP_TRY(readRecording(paths[i], int64_t(i), out.emplace_back()));
  }
  return logs.finish(out);
}
