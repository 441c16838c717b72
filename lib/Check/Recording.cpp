#include "tpsp/Check/Traces.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;
using Json = nlohmann::json;

namespace {

/// Which kind a recorded name has. The first row whose word the name contains
/// decides. Names differ in underscores and prefixes alone.
struct KindWord {
  const char *word;
  std::optional<CollectiveKind> kind;
};

constexpr KindWord kindWords[] = {
    {"reducescatter", CollectiveKind::ReduceScatter},
    {"allreduce", CollectiveKind::AllReduce},
    {"allgather", CollectiveKind::AllGather},
    {"alltoall", CollectiveKind::AllToAll},
};

/// "nccl:_all_gather_base" as "ncclallgatherbase".
std::string lettersOf(const std::string &name) {
  std::string letters;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      letters += char(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

std::optional<CollectiveKind> kindOf(const std::string &name) {
  std::string letters = lettersOf(name);
  for (const KindWord &each : kindWords)
    if (letters.find(each.word) != std::string::npos)
      return each.kind;
  return std::nullopt;
}

int64_t bytesOfType(const std::string &name) {
  static const std::map<std::string, int64_t> bytes = {
      {"float", 4}, {"float32", 4}, {"double", 8},   {"float64", 8},
      {"half", 2},  {"float16", 2}, {"bfloat16", 2}, {"int", 4},
      {"int32", 4}, {"long", 8},    {"int64", 8},    {"byte", 1},
      {"char", 1},  {"bool", 1},    {"short", 2}};
  auto found = bytes.find(lettersOf(name));
  return found == bytes.end() ? 0 : found->second;
}

/// The numbers of "[0, 1, 2]"; none if the list is abridged.
std::vector<int64_t> ranksOf(const std::string &text) {
  std::vector<int64_t> ranks;
  if (text.find("...") != std::string::npos)
    return ranks;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i])))
      continue;
    size_t end = i;
    int64_t rank = 0;
    constexpr int64_t most = 1 << 20;
    while (end < text.size() &&
           std::isdigit(static_cast<unsigned char>(text[end])))
      rank = std::min(most, rank * 10 + (text[end++] - '0'));
    ranks.push_back(rank);
    i = end;
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// The last number in a file's name: "run_rank_3.json" is of rank 3.
std::optional<int64_t> rankInName(const std::string &path) {
  std::string stem = std::filesystem::path(path).stem().string();
  size_t end = stem.find_last_of("0123456789");
  if (end == std::string::npos)
    return std::nullopt;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(stem[begin - 1])))
    --begin;
  constexpr size_t mostDigits = 6;
  if (end - begin >= mostDigits)
    return std::nullopt;
  return std::stoll(stem.substr(begin, end - begin + 1));
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

std::string textOf(const Json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : "";
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

class FlightRecorder {
public:
  FlightRecorder(const Json &top, Recording &out) : top(top), out(out) {}

  Status read() {
    auto entries = top.find("entries");
    if (entries == top.end() || !entries->is_array())
      return rt::invalid("it has no list 'entries'");
    size_t number = 0;
    for (const Json &entry : *entries) {
      Status status = readEntry(entry);
      if (!status.ok())
        return rt::invalid("entry {}: {}", number, status.message());
      ++number;
    }
    return {};
  }

private:
  Status readEntry(const Json &entry) {
    if (!entry.is_object())
      return rt::invalid("it is no object");
    std::string name = textOf(entry, "profiling_name");
    if (name.empty())
      return rt::invalid("it has no profiling_name");
    std::optional<CollectiveKind> kind = kindOf(name);
    if (!kind) {
      ++out.others;
      return {};
    }
    RecordedCall call;
    call.kind = *kind;
    const char *key =
        *kind == CollectiveKind::AllGather ? "output_sizes" : "input_sizes";
    call.elements = entry.contains(key) ? elementsOf(entry[key]) : -1;
    if (call.elements < 0)
      return rt::invalid("its {} are no list of shapes", key);
    auto types = entry.find("input_dtypes");
    if (types != entry.end() && types->is_array() && !types->empty() &&
        types->front().is_string())
      call.elementBytes = bytesOfType(types->front().get<std::string>());
    readGroup(entry, call);
    call.line = userLine(entry);
    out.calls.push_back(std::move(call));
    return {};
  }

  void readGroup(const Json &entry, RecordedCall &call) const {
    auto group = entry.find("process_group");
    if (group == entry.end() || !group->is_array() || group->empty())
      return;
    if (group->back().is_string())
      call.group = group->back().get<std::string>();
    auto config = top.find("pg_config");
    if (!group->front().is_string() || config == top.end() ||
        !config->is_object())
      return;
    auto found = config->find(group->front().get<std::string>());
    if (found == config->end() || !found->is_object())
      return;
    call.ranks = ranksOf(textOf(*found, "ranks"));
    call.groupSize = int64_t(call.ranks.size());
  }

  const Json &top;
  Recording &out;
};

//===--- Chrome trace ----------------------------------------------------===//

/// Reads a Chrome trace event by event. An event's numbers and texts are kept
/// until it ends; lists and everything else are passed over.
class ChromeEvents final : public nlohmann::json_sax<Json> {
public:
  explicit ChromeEvents(Recording &out) : out(out) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(double(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(double(value));
  }
  bool number_float(number_float_t value, const string_t &) override {
    return number(value);
  }
  bool binary(binary_t &) override { return true; }
  bool string(string_t &value) override {
    if (keeps())
      texts[lastKey] = value;
    return true;
  }
  bool start_object(std::size_t) override {
    ++depth;
    if (isInEvents && depth == eventDepth) {
      texts.clear();
      numbers.clear();
    }
    return true;
  }
  bool end_object() override {
    if (isInEvents && depth == eventDepth)
      endEvent();
    --depth;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth;
    if (lastKey == "traceEvents" && !isInEvents) {
      isInEvents = hasEvents = true;
      eventDepth = depth + 1;
    }
    return true;
  }
  bool end_array() override {
    if (isInEvents && depth == eventDepth - 1)
      isInEvents = false;
    --depth;
    return true;
  }
  bool key(string_t &value) override {
    lastKey = value;
    return true;
  }
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    where = position;
    return false;
  }

  /// Events of kernels serve only if there are none of calls.
  void finish() {
    out.calls = calls.empty() ? std::move(kernels) : std::move(calls);
  }

  bool hasEvents = false;
  std::size_t where = 0;

private:
  bool number(double value) {
    if (keeps())
      numbers[lastKey] = value;
    else if (lastKey == "rank" && !isInEvents && depth <= 2)
      out.rank = int64_t(std::clamp(value, 0.0, 1e6));
    return true;
  }
  /// Whether a value belongs to an event, or to its args.
  bool keeps() const {
    return isInEvents && (depth == eventDepth || depth == eventDepth + 1);
  }

  int64_t count(const char *key) const {
    auto found = numbers.find(key);
    return found == numbers.end()
               ? 0
               : int64_t(std::clamp(found->second, 0.0, 9e18));
  }

  void endEvent() {
    const std::string &name = texts["name"];
    bool isCall = name == "record_param_comms";
    bool isKernel = name.rfind("nccl", 0) == 0;
    auto collective = texts.find("Collective name");
    if ((!isCall && !isKernel) || collective == texts.end())
      return;
    std::optional<CollectiveKind> kind = kindOf(collective->second);
    if (!kind) {
      out.others += isCall;
      return;
    }
    RecordedCall call;
    call.kind = *kind;
    call.elements = count(*kind == CollectiveKind::AllGather ? "Out msg nelems"
                                                             : "In msg nelems");
    call.elementBytes = bytesOfType(texts["dtype"]);
    call.ranks = ranksOf(texts["Process Group Ranks"]);
    call.groupSize = count("Group size");
    call.group = texts["Process Group Description"];
    (isCall ? calls : kernels).push_back(std::move(call));
  }

  Recording &out;
  std::vector<RecordedCall> calls, kernels;
  std::map<std::string, std::string> texts;
  std::map<std::string, double> numbers;
  std::string lastKey;
  int depth = 0, eventDepth = 0;
  bool isInEvents = false;
};

Status readChrome(const std::string &path, Recording &out) {
  std::ifstream file(path, std::ios::binary);
  ChromeEvents events(out);
  if (!Json::sax_parse(file, &events))
    return rt::invalid("it is no JSON from byte {} on: it is cut short or "
                       "another file",
                       events.where);
  if (!events.hasEvents)
    return rt::invalid("it has neither 'entries', as a flight recorder, nor "
                       "'traceEvents', as a profiler's trace");
  events.finish();
  return {};
}

Status readFlightRecorder(const std::string &path, Recording &out) {
  constexpr int64_t most = 1 << 30;
  constexpr int deepest = 16;
  std::string text;
  TPSP_TRY(rt::readWhole(path, most, text));
  auto keep = [](int depth, Json::parse_event_t, Json &) {
    return depth <= deepest;
  };
  Json top = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (!top.is_object())
    return rt::invalid("it is no JSON object: it is cut short or another file");
  return FlightRecorder(top, out).read();
}

/// Whether a file begins like a flight recorder's.
Status looksLikeFlightRecorder(const std::string &path, bool &out) {
  constexpr int64_t most = 1 << 16;
  rt::FileHandle file;
  int64_t bytes = 0;
  TPSP_TRY(rt::openToRead(path, file, bytes));
  std::string begin(std::min(bytes, most), '\0');
  TPSP_TRY(rt::readAt(file, 0, int64_t(begin.size()), begin.data()));
  out = begin.find("\"traceEvents\"") == std::string::npos &&
        (begin.find("\"pg_config\"") != std::string::npos ||
         begin.find("\"entries\"") != std::string::npos);
  return {};
}

} // namespace

Status tpsp::check::readRecording(const std::string &path, int64_t number,
                                  Recording &out) {
  out = {};
  out.path = path;
  out.rank = rankInName(path).value_or(number);
  bool isFlightRecorder = false;
  Status status = looksLikeFlightRecorder(path, isFlightRecorder);
  if (status.ok())
    status = isFlightRecorder ? readFlightRecorder(path, out)
                              : readChrome(path, out);
  if (!status.ok())
    return {status.code(),
            fmt::format("cannot read '{}': {}", path, status.message())};
  if (out.calls.empty())
    return rt::invalid("'{}' has no collective with sizes; record a step with "
                       "the flight recorder or the profiler (docs/Check.md)",
                       path);
  return {};
}
