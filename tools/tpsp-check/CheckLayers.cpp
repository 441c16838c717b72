#include "CheckLayers.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Check/Names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::checktool;
using namespace tpsp::check;
using rt::Status;
using tool::Progress;

/// The plan of a part, with the model's names.
static std::shared_ptr<const Plan> named(const ModelPart &part,
                                         const Plan &plan) {
  auto out = std::make_shared<Plan>(plan);
  for (PlanBuffer &buffer : out->buffers)
    buffer.name = part.fullName(buffer.name);
  for (LedgerRow &row : out->ledger)
    row.tensor = part.fullName(row.tensor);
  return out;
}

/// The name in the model of a tensor of a plan, as a dump has it.
static std::string dumpedName(const PlanBuffer &tensor) {
  bool isGradient = tensor.name.compare(0, 2, "g[") == 0;
  return isGradient ? tensor.name.substr(2, tensor.name.size() - 3)
                    : tensor.name;
}

namespace {

/// The parts of a model with a dump, of which one part's tensors are read at a
/// time.
class LayerCheck {
public:
  LayerCheck(const Options &options, Progress &progress, CheckReport &report)
      : options(options), progress(progress), report(report) {}

  Status run() {
    TPSP_TRY(tool::findParts(options, /*speaks=*/true, model));
    if (!options.names.empty())
      TPSP_TRY(NameMap::read(options.names, names));
    DumpReading titlesAlone;
    titlesAlone.withValues = false;
    TPSP_TRY(readDump(options.numbers, titles, titlesAlone));
    for (const ModelPart &part : model.parts)
      TPSP_TRY(check(part));
    addUncompared();
    return {};
  }

private:
  Status check(const ModelPart &part) {
    Opened opened;
    TPSP_TRY(compile(part, opened.program));
    Dump dump;
    TPSP_TRY(read(part, opened.program.plan(), dump));
    TPSP_TRY(takeArguments(options, dump, opened));
    TPSP_TRY(checkArguments(part, opened));
    CheckSettings settings = settingsOf(options, progress);
    settings.progress = [&](const std::string &what) {
      progress.phase(part.name + (part.name.empty() ? "" : ": ") + what);
    };
    std::unique_ptr<NumbersChecker> checker;
    TPSP_TRY(NumbersChecker::create(opened.checked(), settings, checker));
    CheckReport found;
    TPSP_TRY(checker->check(dump, found));
    markTaken(*opened.dumped, found);
    add(std::move(found), opened.dumped->taken());
    return {};
  }

  /// Compiles a function once, for all layers that it computes.
  Status compile(const ModelPart &part, tool::Program &out) {
    auto [found, isNew] = compiled.try_emplace(part.function);
    if (isNew) {
      Options own = compiledAs(options, /*updates=*/false,
                               /*hasGradients=*/true);
      tool::CompileUse use;
      use.isLayer = !part.function.empty();
      own.withoutLayers = !use.isLayer;
      if (use.isLayer)
        own.function = part.function;
      TPSP_TRY(
          compileWith(own, use, innerValues(part), progress, found->second));
    }
    out = found->second;
    out.description.plan = named(part, found->second.plan());
    return {};
  }

  /// The dumped names of values of the part, without the part's own name.
  std::vector<std::string> innerValues(const ModelPart &part) const {
    std::vector<std::string> inner;
    std::string prefix = part.name.empty() ? "" : part.name + ".";
    for (const DumpEntry &entry : titles.entries)
      for (const std::string &name : names.namesFor(entry.name))
        if ((entry.role == DumpRole::Activation ||
             entry.role == DumpRole::Cotangent) &&
            name.compare(0, prefix.size(), prefix) == 0)
          inner.push_back(name.substr(prefix.size()));
    return inner;
  }

  /// Reads the tensors of a part. Gradients that are sums over parts are left
  /// out.
  Status read(const ModelPart &part, const Plan &plan, Dump &out) {
    std::set<std::string> wanted;
    for (const PlanBuffer &tensor : plan.tensors())
      wanted.insert(dumpedName(tensor));
    auto isOfPart = [&](DumpRole role, const std::string &name) {
      bool isSum = role == DumpRole::Gradient || role == DumpRole::Cotangent;
      if (role == DumpRole::Norm || role == DumpRole::Updated ||
          (isSum && part.shared.count(name)))
        return false;
      return role == DumpRole::Loss ? part.name.empty()
                                    : wanted.count(name) > 0;
    };
    DumpReading reading;
    reading.keeps = [&](DumpRole role, const std::string &name) {
      std::vector<std::string> all = names.namesFor(name);
      return std::any_of(all.begin(), all.end(), [&](const std::string &each) {
        return isOfPart(role, each);
      });
    };
    TPSP_TRY(readDump(options.numbers, out, reading));
    TPSP_TRY(names.apply(namedExtentsOf(plan), out));
    auto isOther = [&](const DumpEntry &entry) {
      return !isOfPart(entry.role, entry.name);
    };
    out.entries.erase(
        std::remove_if(out.entries.begin(), out.entries.end(), isOther),
        out.entries.end());
    return fillStages(plan, out);
  }

  /// Gives the ranks of stages that lack a tensor what the ranks of their place
  /// on another stage have.
  Status fillStages(const Plan &plan, Dump &dump) const {
    rt::RankMesh mesh;
    TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
    if (model.stageAxis < 0 || dump.numRanks != mesh.numRanks())
      return {};
    for (DumpEntry &entry : dump.entries)
      for (int64_t rank = 0; rank < dump.numRanks; ++rank) {
        rt::RankGroup group;
        TPSP_TRY(mesh.group(rank, {model.stageAxis}, group));
        for (int64_t other : group.ranks)
          if (!entry.ranks[rank] && entry.ranks[other])
            entry.ranks[rank] = entry.ranks[other];
      }
    return {};
  }

  /// Every argument must be given, but for the cotangent of a loss, which is 1.
  Status checkArguments(const ModelPart &part, const Opened &opened) const {
    std::vector<std::string> lacking;
    for (const PlanBuffer &tensor : opened.program.plan().tensors())
      if (tensor.isArgument() && !opened.arguments.source->isGiven(tensor) &&
          !(tensor.isCotangent() && tensor.deviation == 0))
        lacking.push_back(DumpedArguments::titleOf(tensor));
    if (lacking.empty())
      return {};
    std::string why;
    for (const std::string &title : lacking)
      if (auto found = opened.dumped->passedOver().find(title);
          why.empty() && found != opened.dumped->passedOver().end())
        why = fmt::format(" ({}: {})", title, found->second);
    return rt::invalid(
        "the dump '{}' lacks {}{}, without which {} cannot be checked alone; "
        "record what every layer takes and returns (docs/Check.md)",
        options.numbers, fmt::join(lacking, ", "), why,
        part.name.empty() ? "what is left without the layers" : part.name);
  }

  /// Adds the verdicts of a part. Two parts have the tensor that one returns
  /// and the other takes. It is judged where it is made.
  void add(CheckReport found, const std::set<std::string> &taken) {
    std::vector<TensorVerdict> verdicts = std::move(found.tensors);
    found.tensors.clear();
    report.add(std::move(found));
    for (TensorVerdict &verdict : verdicts) {
      verdict.place = placeOf(verdict);
      bool isTaken = taken.count(verdict.title) > 0;
      if (isTaken && verdict.kind == VerdictKind::Copies)
        report.notes.push_back(fmt::format(
            "{}: {}; what takes it is checked with the first rank's",
            verdict.title, verdict.text));
      auto [at, isNew] =
          numbers.try_emplace(verdict.title, report.tensors.size());
      if (isNew)
        report.tensors.push_back(std::move(verdict));
      else if (!isTaken)
        report.tensors[at->second] = std::move(verdict);
    }
    ++checked;
  }

  /// In the whole model, the backward pass is in the reverse order of parts.
  int64_t placeOf(const TensorVerdict &verdict) const {
    constexpr int64_t mostCommands = 1 << 24;
    DumpRole role;
    std::string name;
    parseTitle(verdict.title, role, name);
    bool isBackward = role == DumpRole::Gradient || role == DumpRole::Cotangent;
    auto all = int64_t(model.parts.size());
    int64_t part = isBackward ? 2 * all - checked : checked;
    return part * mostCommands + verdict.place;
  }

  /// Says of each tensor that no part has why it was not compared.
  void addUncompared() {
    for (const DumpEntry &entry : titles.entries)
      for (const std::string &name : names.namesFor(entry.name)) {
        DumpEntry named = entry;
        named.name = name;
        if (numbers.count(named.title()))
          continue;
        TensorVerdict &verdict = report.tensors.emplace_back();
        verdict.title = named.title();
        verdict.kind = VerdictKind::NotCompared;
        verdict.text = "no layer has it alone: a norm, an update, a sum over "
                       "layers, or a name that the program lacks; check it "
                       "without --layers";
      }
  }

  const Options &options;
  Progress &progress;
  CheckReport &report;
  ModelParts model;
  NameMap names;
  /// The dump without its values.
  Dump titles;
  /// The key is the function.
  std::map<std::string, tool::Program> compiled;
  /// The numbers of the report's tensors, by title.
  std::map<std::string, size_t> numbers;
  /// The parts that were checked so far.
  int64_t checked = 0;
};

} // namespace

Status tpsp::checktool::checkLayers(const Options &options, Progress &progress,
                                    CheckReport &report) {
  return LayerCheck(options, progress, report).run();
}
