#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Schedule/Hardware.h"

#include "llvm/Support/FormatVariadic.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <set>

using namespace tpsp;
using Json = nlohmann::ordered_json;

namespace tpsp {
/// The text of a built-in description, or null (EmbeddedHardware.cpp.in).
const char *embeddedHardware(llvm::StringRef name);
} // namespace tpsp

// Files are in units that people read; memory is in SI units.
static constexpr double micro = 1e-6, giga = 1e9, tera = 1e12;

static constexpr CollectiveAlgorithm algorithms[] = {
    CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree,
    CollectiveAlgorithm::InNetwork};
static constexpr CollectiveKind kinds[] = {
    CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
    CollectiveKind::AllGather, CollectiveKind::AllToAll,
    CollectiveKind::Permute};
static constexpr std::pair<const char *, int64_t> elementTypes[] = {
    {"bf16", TPSP_RT_BF16},
    {"f16", TPSP_RT_F16},
    {"f32", TPSP_RT_F32},
    {"f64", TPSP_RT_F64}};

llvm::StringRef tpsp::name(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
  case CollectiveAlgorithm::Ring:
    return "ring";
  case CollectiveAlgorithm::Tree:
    return "tree";
  case CollectiveAlgorithm::InNetwork:
    return "in-network";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

/// The first thing that is wrong with a description.
struct Problem {
  std::string text;
  void report(const std::string &path, const std::string &message) {
    if (text.empty())
      text = path + ": " + message;
  }
};

/// Whether brackets are nested deeper than a description's ever are, and than
/// those who walk the values can go.
bool isTooDeep(llvm::StringRef text) {
  constexpr int most = 64;
  int depth = 0;
  for (char c : text) {
    depth += c == '[' || c == '{';
    depth -= c == ']' || c == '}';
    if (depth > most)
      return true;
  }
  return false;
}

std::string shown(const Json &value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

/// An object of the description, of which every key must be read: what is left
/// over in done() is a key that there is not.
class Object {
public:
  Object(const Json &value, std::string path, Problem &problem)
      : value(value), path(std::move(path)), problem(problem) {
    if (!value.is_object())
      problem.report(this->path, "expected an object, not " + shown(value));
  }

  bool has(const char *key) const {
    return value.is_object() && value.contains(key);
  }
  std::string pathOf(const std::string &key) const {
    return path.empty() ? key : path + "." + key;
  }

  const Json *find(const char *key, bool isRequired = true) {
    known.insert(key);
    if (has(key))
      return &value.at(key);
    if (isRequired)
      problem.report(pathOf(key), "is missing");
    return nullptr;
  }

  /// In the unit of the file, times `unit`.
  double number(const char *key, double unit, double least = 0,
                double most = 1e30) {
    const Json *found = find(key);
    if (!found)
      return 0;
    if (!found->is_number() || found->get<double>() < least ||
        found->get<double>() > most) {
      problem.report(pathOf(key),
                     llvm::formatv("expected a number from {0} to {1}, not {2}",
                                   least, most, shown(*found)));
      return 0;
    }
    return found->get<double>() * unit;
  }

  /// Above 0: something is divided by it.
  double rate(const char *key, double unit) {
    return number(key, unit, /*least=*/1e-9);
  }

  int64_t integer(const char *key, int64_t least, int64_t most) {
    const Json *found = find(key);
    if (!found)
      return least;
    bool fits = found->is_number_integer() &&
                found->get<double>() >= double(least) &&
                found->get<double>() <= double(most);
    if (!fits)
      problem.report(pathOf(key), llvm::formatv("expected a whole number from "
                                                "{0} to {1}, not {2}",
                                                least, most, shown(*found)));
    return fits ? found->get<int64_t>() : least;
  }

  std::string string(const char *key, bool isRequired = true) {
    const Json *found = find(key, isRequired);
    if (!found)
      return "";
    if (found->is_string())
      return found->get<std::string>();
    problem.report(pathOf(key), "expected a string, not " + shown(*found));
    return "";
  }

  bool boolean(const char *key) {
    const Json *found = find(key, /*isRequired=*/false);
    if (found && !found->is_boolean())
      problem.report(pathOf(key),
                     "expected true or false, not " + shown(*found));
    return found && found->is_boolean() && found->get<bool>();
  }

  /// One of `choices` by its name.
  template <typename Choices, typename NameOf>
  auto choice(const char *key, const Choices &choices, NameOf nameOf)
      -> std::decay_t<decltype(*std::begin(choices))> {
    std::string text = string(key), all;
    for (const auto &one : choices) {
      if (std::string(nameOf(one)) == text)
        return one;
      all += (all.empty() ? "" : ", ") + std::string(nameOf(one));
    }
    problem.report(pathOf(key),
                   "expected one of " + all + ", not '" + text + "'");
    return *std::begin(choices);
  }

  void done() {
    if (!value.is_object())
      return;
    std::string all;
    for (const std::string &key : known)
      all += (all.empty() ? "" : ", ") + key;
    for (const auto &entry : value.items())
      if (!known.count(entry.key()))
        problem.report(pathOf(entry.key()),
                       "there is no such key; there are " + all);
  }

  const Json &value;
  const std::string path;
  Problem &problem;

private:
  std::set<std::string> known;
};

} // namespace

/// A list of numbers above 0, in the file's unit; ascending where asked.
static std::vector<double> readNumbers(const Json &value,
                                       const std::string &path, double unit,
                                       bool ascending, Problem &problem) {
  std::vector<double> list;
  if (!value.is_array() || value.empty()) {
    problem.report(path, "expected a list of numbers, not " + shown(value));
    return {};
  }
  for (const Json &entry : value) {
    std::string place = path + "[" + std::to_string(list.size()) + "]";
    double number = entry.is_number() ? entry.get<double>() * unit : 0;
    if (!(number > 0 && std::isfinite(number)))
      problem.report(place, "expected a number above 0, not " + shown(entry));
    if (ascending && !list.empty() && number <= list.back())
      problem.report(place,
                     "expected more than the one before, not " + shown(entry));
    list.push_back(number);
  }
  return list;
}

/// [[bytes, value], ...], ascending in bytes.
static SizeTable readTable(const Json *value, const std::string &path,
                           double unit, Problem &problem) {
  SizeTable table;
  if (!value)
    return table;
  if (!value->is_array() || value->empty())
    problem.report(path, "expected a list of [bytes, value] pairs, not " +
                             shown(*value));
  for (const Json &entry : *value) {
    std::string place = path + "[" + std::to_string(table.size()) + "]";
    std::vector<double> pair =
        readNumbers(entry, place, 1, /*ascending=*/false, problem);
    if (pair.size() != 2) {
      problem.report(place, "expected [bytes, value], not " + shown(entry));
      return {};
    }
    if (!table.empty() && pair[0] <= table.back().bytes)
      problem.report(place, "expected more bytes than the one before, not " +
                                shown(entry[0]));
    table.push_back({pair[0], pair[1] * unit});
  }
  return table;
}

/// By layout (MatmulRates::relative): whether A and B are transposed.
static constexpr const char *relativeKeys[] = {"relative_nn", "relative_nt",
                                               "relative_tn", "relative_tt"};

/// Numbers on the grid: a list for each m of lists for each n of one for each
/// k.
static void readGrid(Object &object, const char *key, bool isRequired,
                     double unit, const MatmulRates &rates,
                     std::vector<double> &out) {
  const Json *grid = object.find(key, isRequired);
  std::string path = object.pathOf(key);
  auto isOf = [](const Json &value, size_t size) {
    return value.is_array() && value.size() == size;
  };
  if (!grid)
    return;
  if (!isOf(*grid, rates.m.size()))
    return object.problem.report(path, "expected a list for each m");
  for (size_t i = 0; i < rates.m.size(); ++i) {
    std::string row = path + "[" + std::to_string(i) + "]";
    if (!isOf((*grid)[i], rates.n.size()))
      return object.problem.report(row, "expected a list for each n");
    for (size_t j = 0; j < rates.n.size(); ++j) {
      std::string cell = row + "[" + std::to_string(j) + "]";
      std::vector<double> values = readNumbers(
          (*grid)[i][j], cell, unit, /*ascending=*/false, object.problem);
      if (values.size() != rates.k.size())
        return object.problem.report(cell, "expected a number for each k");
      out.insert(out.end(), values.begin(), values.end());
    }
  }
}

static void readGrids(Object &object, MatmulRates &rates) {
  for (auto [key, axis] : {std::pair("m", &rates.m), std::pair("n", &rates.n),
                           std::pair("k", &rates.k)})
    if (const Json *found = object.find(key))
      *axis = readNumbers(*found, object.pathOf(key), 1, /*ascending=*/true,
                          object.problem);
  readGrid(object, "tflops", /*isRequired=*/true, tera, rates, rates.rates);
  for (size_t layout = 0; layout < rates.relative.size(); ++layout)
    readGrid(object, relativeKeys[layout],
             /*isRequired=*/false, 1, rates, rates.relative[layout]);
}

static MatmulRates readMatmul(const Json &value, const std::string &path,
                              Problem &problem) {
  Object object(value, path, problem);
  MatmulRates rates;
  rates.peak = object.rate("peak_tflops", tera);
  rates.sustained = object.rate("sustained_tflops", tera);
  readGrids(object, rates);
  object.done();
  return rates;
}

static void readMatmuls(const Json *value, Problem &problem, Hardware &result) {
  if (!value)
    return;
  Object object(*value, "matmul", problem);
  for (auto [type, dtype] : elementTypes)
    if (const Json *found = object.find(type, /*isRequired=*/false))
      result.matmul[dtype] = readMatmul(*found, object.pathOf(type), problem);
  object.done();
  if (result.matmul.empty())
    problem.report("matmul", "expected at least one of bf16, f16, f32, f64");
}

/// By table (AttentionRates::tableOf).
static constexpr const char *attentionKeys[] = {
    "forward_tflops", "forward_causal_tflops", "backward_tflops",
    "backward_causal_tflops"};

/// A list for each number of features, of a rate for each number of keys.
static AttentionRates::Table readAttentionTable(Object &object, const char *key,
                                                const AttentionRates &rates) {
  AttentionRates::Table table;
  const Json *found = object.find(key);
  std::string path = object.pathOf(key);
  if (!found)
    return table;
  if (!found->is_array() || found->size() != rates.features.size()) {
    object.problem.report(path, "expected a list for each of features");
    return table;
  }
  for (size_t i = 0; i < found->size(); ++i) {
    std::string row = path + "[" + std::to_string(i) + "]";
    std::vector<double> values = readNumbers(
        (*found)[i], row, tera, /*ascending=*/false, object.problem);
    if (values.size() != rates.keys.size())
      object.problem.report(row, "expected a number for each of keys");
    table.insert(table.end(), values.begin(), values.end());
  }
  return table;
}

static AttentionRates readAttention(const Json &value, const std::string &path,
                                    Problem &problem) {
  Object object(value, path, problem);
  AttentionRates rates;
  for (auto [key, axis] :
       {std::pair("features", &rates.features), std::pair("keys", &rates.keys)})
    if (const Json *found = object.find(key))
      *axis = readNumbers(*found, object.pathOf(key), 1, /*ascending=*/true,
                          problem);
  for (size_t table = 0; table < rates.tables.size(); ++table)
    rates.tables[table] =
        readAttentionTable(object, attentionKeys[table], rates);
  object.done();
  return rates;
}

static void readAttentions(const Json *value, Problem &problem,
                           Hardware &result) {
  if (!value)
    return;
  Object object(*value, "attention", problem);
  for (auto [type, dtype] : elementTypes)
    if (const Json *found = object.find(type, /*isRequired=*/false))
      result.attention[dtype] =
          readAttention(*found, object.pathOf(type), problem);
  object.done();
}

static void readKernel(const Json *value, Problem &problem, Hardware &result) {
  if (!value)
    return;
  Object object(*value, "kernel", problem);
  result.kernel.operations = object.rate("operations_gops", giga);
  result.kernel.transcendentals = object.rate("transcendentals_gops", giga);
  result.kernel.cacheBandwidth = object.rate("cache_gbs", giga);
  result.kernel.scattered = object.rate("scattered_gops", giga);
  result.kernel.startSeconds = object.number("start_us", micro);
  result.kernel.itemSeconds = object.number("item_us", micro);
  object.done();
}

/// {"8": [[bytes, microseconds], ...], ...}
static void readMeasured(const Json *value, const std::string &path,
                         Problem &problem, CollectiveRates &rates) {
  if (!value)
    return;
  if (!value->is_object())
    return problem.report(path, "expected an object from group sizes to "
                                "tables, not " +
                                    shown(*value));
  for (const auto &entry : value->items()) {
    int64_t group = 0;
    if (llvm::StringRef(entry.key()).getAsInteger(10, group) || group < 2 ||
        group > (1 << 20))
      return problem.report(path,
                            "expected a group of at least 2 ranks, not '" +
                                entry.key() + "'");
    rates.measured[group] =
        readTable(&entry.value(), path + "." + entry.key(), micro, problem);
  }
}

static CollectiveRates
readCollective(const Json &value, const std::string &path, Problem &problem) {
  Object object(value, path, problem);
  CollectiveRates rates;
  rates.kind = object.choice(
      "kind", kinds, [](CollectiveKind kind) { return name(kind).str(); });
  rates.algorithm =
      object.choice("algorithm", algorithms, [](CollectiveAlgorithm algorithm) {
        return name(algorithm).str();
      });
  rates.tier = object.string("tier");
  rates.latency = object.number("latency_us", micro);
  rates.hop = object.number("hop_us", micro);
  rates.busBandwidth = object.rate("bus_gbs", giga);
  rates.measuredGroupsOnly = object.boolean("measured_groups_only");
  readMeasured(object.find("measured_us", /*isRequired=*/false),
               object.pathOf("measured_us"), problem, rates);
  object.done();
  return rates;
}

static void readTiers(const Json *value, Problem &problem, Hardware &result) {
  if (!value)
    return;
  Object object(*value, "tiers", problem);
  result.insideTier = object.string("inside_node");
  result.betweenTier = object.string("between_nodes", result.nodes > 1);
  object.done();
}

/// Every kind needs a way to travel on every tier; one device alone has nobody
/// to send to.
static void checkCollectives(const Hardware &hardware, Problem &problem) {
  if (!hardware.isCpu() && hardware.devicesPerNode * hardware.nodes == 1)
    return;
  for (const std::string &tier : {hardware.insideTier, hardware.betweenTier})
    for (CollectiveKind kind : kinds) {
      bool found = tier.empty();
      for (const CollectiveRates &rates : hardware.collectives)
        found |= rates.tier == tier && rates.kind == kind &&
                 !rates.measuredGroupsOnly;
      if (!found)
        problem.report("collectives", "there is no " + name(kind).str() +
                                          " for any group on tier '" + tier +
                                          "'");
    }
}

static void readCollectives(const Json *value, Problem &problem,
                            Hardware &result) {
  if (!value)
    return;
  if (!value->is_array())
    return problem.report("collectives",
                          "expected a list, not " + shown(*value));
  for (const Json &entry : *value) {
    std::string path =
        "collectives[" + std::to_string(result.collectives.size()) + "]";
    result.collectives.push_back(readCollective(entry, path, problem));
  }
  checkCollectives(result, problem);
}

static Hardware readHardware(const Json &value, Problem &problem) {
  Object object(value, "", problem);
  Hardware result;
  object.find("base", /*isRequired=*/false);
  result.name = object.string("name");
  result.source = object.string("source", /*isRequired=*/false);
  result.kind =
      object.choice("kind",
                    std::initializer_list<Hardware::Kind>{Hardware::Kind::Gpu,
                                                          Hardware::Kind::Cpu},
                    [](Hardware::Kind kind) {
                      return kind == Hardware::Kind::Gpu ? "gpu" : "cpu";
                    });
  result.cores = object.integer("cores", 1, 1 << 20);
  result.memoryBytes = object.integer("memory_bytes", 1, int64_t(1) << 52);
  result.devicesPerNode = object.integer("devices_per_node", 1, 1 << 16);
  result.nodes = object.integer("nodes", 1, 1 << 20);
  result.launchSeconds = object.number("launch_us", micro);
  result.issueSeconds = object.number("issue_us", micro);
  result.stepSeconds = object.number("step_us", micro);
  result.wakeSeconds = object.number("wake_us", micro);
  result.handoffSeconds = object.number("handoff_us", micro);
  result.memory =
      readTable(object.find("memory_gbs"), "memory_gbs", giga, problem);
  readKernel(object.find("kernel"), problem, result);
  readMatmuls(object.find("matmul"), problem, result);
  readAttentions(object.find("attention", /*isRequired=*/false), problem,
                 result);
  readTiers(object.find("tiers"), problem, result);
  readCollectives(object.find("collectives"), problem, result);
  result.collectiveCores =
      object.number("collective_cores", 1, 0, double(result.cores));
  object.done();
  if (!result.isCpu() && result.collectiveCores >= double(result.cores))
    problem.report("collective_cores", "expected fewer than cores");
  return result;
}

/// What a description has in common with a built-in one is not written again:
/// with "base", keys of the outermost object replace the base's.
static Json withBase(Json json, Problem &problem) {
  if (!json.is_object() || !json.contains("base"))
    return json;
  const Json &base = json["base"];
  const char *text =
      base.is_string() ? embeddedHardware(base.get<std::string>()) : nullptr;
  if (!text) {
    problem.report("base", "expected the name of a built-in description, not " +
                               shown(base));
    return json;
  }
  // Built-in descriptions are ours: valid, and no base of themselves.
  Json merged = withBase(Json::parse(text), problem);
  for (const auto &entry : json.items())
    merged[entry.key()] = entry.value();
  return merged;
}

llvm::Expected<Hardware> tpsp::parseHardware(llvm::StringRef text,
                                             llvm::StringRef origin) {
  if (isTooDeep(text))
    return llvm::createStringError(origin + ": brackets are nested too deep "
                                            "for a description of hardware");
  Json json;
  try {
    json = Json::parse(text.begin(), text.end());
  } catch (const Json::exception &error) {
    return llvm::createStringError(origin + ": not JSON: " + error.what());
  }
  Problem problem;
  Hardware result = readHardware(withBase(std::move(json), problem), problem);
  if (!problem.text.empty())
    return llvm::createStringError(origin + ": " + problem.text +
                                   " (docs/Hardware.md has every key)");
  return result;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// To four digits: more were not measured.
static double rounded(double value) {
  if (value == 0)
    return 0;
  double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

static Json tableOf(const SizeTable &table, double unit) {
  Json list = Json::array();
  for (const SizePoint &point : table)
    list.push_back({int64_t(point.bytes), rounded(point.value / unit)});
  return list;
}

/// `values` on the grid of `rates`.
static Json gridOf(const MatmulRates &rates, const std::vector<double> &values,
                   double unit) {
  auto next = values.begin();
  Json grid = Json::array();
  for (size_t i = 0; i < rates.m.size(); ++i) {
    Json rows = Json::array();
    for (size_t j = 0; j < rates.n.size(); ++j) {
      Json row = Json::array();
      for (size_t l = 0; l < rates.k.size(); ++l)
        row.push_back(rounded(*next++ / unit));
      rows.push_back(row);
    }
    grid.push_back(rows);
  }
  return grid;
}

static Json matmulOf(const MatmulRates &rates) {
  Json json = {{"peak_tflops", rounded(rates.peak / tera)},
               {"sustained_tflops", rounded(rates.sustained / tera)},
               {"m", rates.m},
               {"n", rates.n},
               {"k", rates.k},
               {"tflops", gridOf(rates, rates.rates, tera)}};
  for (size_t layout = 0; layout < rates.relative.size(); ++layout)
    if (!rates.relative[layout].empty())
      json[relativeKeys[layout]] = gridOf(rates, rates.relative[layout], 1);
  return json;
}

static Json attentionOf(const AttentionRates &rates) {
  Json json = {{"features", rates.features}, {"keys", rates.keys}};
  for (size_t table = 0; table < rates.tables.size(); ++table) {
    Json rows = Json::array();
    for (size_t i = 0; i < rates.features.size(); ++i) {
      Json row = Json::array();
      for (size_t j = 0; j < rates.keys.size(); ++j)
        row.push_back(rounded(rates.at(table, i, j) / tera));
      rows.push_back(row);
    }
    json[attentionKeys[table]] = rows;
  }
  return json;
}

static Json collectiveOf(const CollectiveRates &rates) {
  Json json = {{"kind", name(rates.kind).str()},
               {"algorithm", name(rates.algorithm).str()},
               {"tier", rates.tier},
               {"latency_us", rounded(rates.latency / micro)},
               {"hop_us", rounded(rates.hop / micro)},
               {"bus_gbs", rounded(rates.busBandwidth / giga)}};
  if (rates.measuredGroupsOnly)
    json["measured_groups_only"] = true;
  for (const auto &[group, table] : rates.measured)
    json["measured_us"][std::to_string(group)] = tableOf(table, micro);
  return json;
}

std::string tpsp::toJson(const Hardware &hardware) {
  const KernelRates &kernel = hardware.kernel;
  Json json = {
      {"name", hardware.name},
      {"source", hardware.source},
      {"kind", hardware.isCpu() ? "cpu" : "gpu"},
      {"cores", hardware.cores},
      {"memory_bytes", hardware.memoryBytes},
      {"devices_per_node", hardware.devicesPerNode},
      {"nodes", hardware.nodes},
      {"launch_us", rounded(hardware.launchSeconds / micro)},
      {"issue_us", rounded(hardware.issueSeconds / micro)},
      {"step_us", rounded(hardware.stepSeconds / micro)},
      {"wake_us", rounded(hardware.wakeSeconds / micro)},
      {"handoff_us", rounded(hardware.handoffSeconds / micro)},
      {"memory_gbs", tableOf(hardware.memory, giga)},
      {"kernel",
       {{"operations_gops", rounded(kernel.operations / giga)},
        {"transcendentals_gops", rounded(kernel.transcendentals / giga)},
        {"cache_gbs", rounded(kernel.cacheBandwidth / giga)},
        {"scattered_gops", rounded(kernel.scattered / giga)},
        {"start_us", rounded(kernel.startSeconds / micro)},
        {"item_us", rounded(kernel.itemSeconds / micro)}}},
      {"matmul", Json::object()},
      {"attention", Json::object()},
      {"tiers", {{"inside_node", hardware.insideTier}}},
      {"collectives", Json::array()},
      {"collective_cores", hardware.collectiveCores}};
  for (auto [type, dtype] : elementTypes)
    if (auto found = hardware.matmul.find(dtype);
        found != hardware.matmul.end())
      json["matmul"][type] = matmulOf(found->second);
  for (auto [type, dtype] : elementTypes)
    if (auto found = hardware.attention.find(dtype);
        found != hardware.attention.end())
      json["attention"][type] = attentionOf(found->second);
  if (!hardware.betweenTier.empty())
    json["tiers"]["between_nodes"] = hardware.betweenTier;
  for (const CollectiveRates &rates : hardware.collectives)
    json["collectives"].push_back(collectiveOf(rates));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}
