#include "CheckLayers.h"
#include "CheckUpdates.h"
#include "LayerDump.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Check/GradientNorm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::checktool;
using namespace tpsp::check;
using rt::Status;
using tool::Progress;

/// Whether a command reads an argument.
static bool isRead(const Plan &plan, const PlanBuffer &argument) {
  int64_t number = &argument - plan.buffers.data();
  for (const PlanCommand &command : plan.commands)
    for (const PlanAccess &access : command.accesses)
      if (!access.isWrite && access.buffer == number)
        return true;
  return false;
}

namespace {

/// The parts of a model with a dump, of which one part's tensors are read at a
/// time.
class LayerCheck {
public:
  LayerCheck(const Options &options, Progress &progress, CheckReport &report)
      : options(options), progress(progress), report(report), layers(options) {}

  Status run() {
    TPSP_TRY(tool::findParts(options, /*speaks=*/true, model));
    TPSP_TRY(layers.open(model.stageAxis));
    for (const ModelPart &part : model.parts) {
      CheckReport found;
      TPSP_TRY(check(part, options, LayerUse::Gradients, found));
      add(std::move(found));
    }
    TPSP_TRY(checkNorm());
    TPSP_TRY(checkUpdates());
    addUncompared();
    return {};
  }

private:
  Status check(const ModelPart &part, const Options &own, LayerUse use,
               CheckReport &found) {
    Opened opened;
    TPSP_TRY(compile(part, own, use, opened.program));
    Dump dump;
    TPSP_TRY(layers.read(part, opened.program.plan(), use, dump));
    if (use == LayerUse::Update)
      completeUpdate(opened.program.plan(), dump, found);
    TPSP_TRY(takeArgumentsAndFree(own, dump, opened));
    TPSP_TRY(checkArguments(part, opened));
    bool updates = use == LayerUse::Update;
    if (updates)
      keepRole(DumpRole::Updated, dump);
    CheckSettings settings = settingsOf(own, progress);
    settings.isUsedOnce = true;
    settings.progress = [&](const std::string &what) {
      progress.phase(part.name + (part.name.empty() ? "" : ": ") + what);
    };
    std::unique_ptr<NumbersChecker> checker;
    TPSP_TRY(NumbersChecker::create(opened.checked(), settings, checker));
    TPSP_TRY(checker->check(std::move(dump), found));
    if (!updates)
      addSquares(part, opened.program.plan(), *checker);
    markTaken(*opened.dumped, found);
    taken = opened.dumped->taken();
    return {};
  }

  /// Compiles a function once, for all layers that it computes.
  Status compile(const ModelPart &part, const Options &given, LayerUse use,
                 tool::Program &out) {
    bool updates = use == LayerUse::Update;
    std::string key = fmt::format("{} {} {}", part.function, updates,
                                  fmt::join(given.optimizerAxes, ","));
    auto [found, isNew] = compiled.try_emplace(key);
    if (isNew) {
      Options own = compiledAs(given, updates, /*hasGradients=*/true);
      // Gradients come clipped (clip()).
      own.clip = 0;
      tool::CompileUse compileUse;
      compileUse.isLayer = !part.function.empty();
      own.withoutLayers = !compileUse.isLayer;
      if (compileUse.isLayer)
        own.function = part.function;
      std::vector<std::string> inner;
      if (!updates)
        inner = layers.innerValues(part);
      TPSP_TRY(compileWith(own, compileUse, std::move(inner), progress,
                           found->second));
    }
    out = found->second;
    out.description.plan = named(part, found->second.plan());
    return {};
  }

  /// Every argument must be given, but for the cotangent of a loss, which is 1.
  Status checkArguments(const ModelPart &part, const Opened &opened) const {
    std::vector<std::string> lacking;
    for (const PlanBuffer &tensor : opened.program.plan().tensors())
      if (tensor.isArgument() && !opened.arguments.source->isGiven(tensor) &&
          !(tensor.isCotangent() && tensor.deviation == 0) &&
          (!tensor.isScalar || isRead(opened.program.plan(), tensor)))
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

  //===--- The norm of all layers ----------------------------------------===//

  /// A gradient that is a sum over parts has no square of a part.
  void addSquares(const ModelPart &part, const Plan &plan,
                  const NumbersChecker &checker) {
    squares.add(checker.squares());
    if (firstPlan == nullptr)
      firstPlan = named(part, plan);
    for (const PlanBuffer &tensor : plan.tensors())
      if (tensor.kind == BufferKind::Parameter &&
          part.shared.count(tensor.name))
        sums.insert(tensor.name);
  }

  std::string whyNoNorm() const {
    return sums.empty() ? ""
                        : fmt::format("several layers read {}, whose gradient "
                                      "is a sum over them",
                                      fmt::join(sums, ", "));
  }

  Status checkNorm() {
    Dump dump;
    TPSP_TRY(layers.readNorm(dump));
    for (const DumpEntry &entry : dump.entries) {
      TensorVerdict verdict;
      if (sums.empty()) {
        rt::RankMesh mesh;
        TPSP_TRY(rt::RankMesh::create(firstPlan->mesh, mesh));
        // Ranks of other stages have no squares of a layer.
        if (model.stageAxis >= 0)
          squares.own.clear();
        verdict = judgeNorm(entry, *firstPlan, mesh, squares, options.scale);
        verdict.place = last;
      } else {
        verdict.title = entry.title();
        verdict.kind = VerdictKind::NotCompared;
        verdict.text = "no layer has it alone: " + whyNoNorm();
      }
      numbers.try_emplace(verdict.title, report.tensors.size());
      report.tensors.push_back(std::move(verdict));
    }
    return {};
  }

  //===--- Updates -------------------------------------------------------===//

  Status checkUpdates() {
    if (options.optimizer == "none" || (options.clip > 0 && !sums.empty()))
      return {};
    for (const ModelPart &part : model.parts) {
      CheckReport found;
      auto checkAs = [&](const Options &own, CheckReport &out) {
        return check(part, own, LayerUse::Update, out);
      };
      if (hasUpdates(part))
        TPSP_TRY(checkWithAxes(options, checkAs, report, found));
      add(std::move(found));
    }
    return {};
  }

  /// Clips the gradients, and begins with a state of zeros if there is none.
  void completeUpdate(const Plan &plan, Dump &dump, CheckReport &found) const {
    if (options.clip > 0)
      scaleCotangents(
          plan, std::min(1.0, options.clip / (std::sqrt(squares.all) + 1e-6)),
          dump);
    if (addZeroState(plan, dump))
      found.notes.push_back("the dump lacks the optimizer's state, which is "
                            "taken as zeros, as in a first step");
  }

  /// Whether the dump has a new parameter of a part.
  bool hasUpdates(const ModelPart &part) const {
    std::set<std::string> ofLayers;
    for (const ModelPart &each : model.parts)
      for (const auto &[own, name] : each.arguments)
        ofLayers.insert(name);
    std::set<std::string> ofPart;
    for (const auto &[own, name] : part.arguments)
      ofPart.insert(name);
    bool found = false;
    layers.forEach([&](const DumpEntry &entry, const std::string &name) {
      bool isOfPart = part.function.empty() ? !ofLayers.count(name)
                                            : ofPart.count(name) > 0;
      found |= entry.role == DumpRole::Updated && isOfPart;
    });
    return found;
  }

  //===--- The report ----------------------------------------------------===//

  /// Adds the verdicts of a part. Two parts have the tensor that one returns
  /// and the other takes. It is judged where it is made.
  void add(CheckReport found) {
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
    ofArguments.insert(taken.begin(), taken.end());
  }

  /// In the whole model, the backward pass is in the reverse order of parts,
  /// and the update follows. Parts are counted once more for it.
  int64_t placeOf(const TensorVerdict &verdict) {
    constexpr int64_t mostCommands = 1 << 24;
    DumpRole role;
    std::string name;
    parseTitle(verdict.title, role, name);
    bool isBackward = role == DumpRole::Gradient || role == DumpRole::Cotangent;
    auto all = int64_t(model.parts.size());
    int64_t part = isBackward ? 2 * all - checked : checked;
    if (role == DumpRole::Updated)
      part = all + checked + 1;
    last = std::max(last, part * mostCommands + verdict.place);
    return part * mostCommands + verdict.place;
  }

  /// Says of each tensor that no part has why it was not compared.
  void addUncompared() {
    layers.forEach([&](const DumpEntry &entry, const std::string &name) {
      DumpEntry renamed = entry;
      renamed.name = name;
      std::string title = renamed.title();
      if (numbers.count(title) || ofArguments.count(title))
        return;
      TensorVerdict &verdict = report.tensors.emplace_back();
      verdict.title = title;
      verdict.kind = VerdictKind::NotCompared;
      verdict.text = whyUncompared(entry.role);
    });
  }

  std::string whyUncompared(DumpRole role) const {
    if (role == DumpRole::Updated && options.optimizer == "none")
      return "the program updates no parameters; give --optimizer";
    if (role == DumpRole::Updated && options.clip > 0 && !sums.empty())
      return "it is clipped by the norm of all gradients, which is not "
             "known: " +
             whyNoNorm();
    return "no layer has it alone: a sum over layers, or a name that the "
           "program lacks; check it without --layers";
  }

  const Options &options;
  Progress &progress;
  CheckReport &report;
  ModelParts model;
  LayerDump layers;
  /// The key is the function, and how it is compiled.
  std::map<std::string, tool::Program> compiled;
  /// The numbers of the report's tensors, by title.
  std::map<std::string, size_t> numbers;
  /// The parts that were checked so far.
  int64_t checked = 0;
  /// The last place of a verdict.
  int64_t last = 0;
  /// The titles that the last part took as arguments, and those of all parts.
  std::set<std::string> taken, ofArguments;
  /// The squares of all gradients, and the parameters that have none because
  /// several parts read them.
  GradientSquares squares;
  std::set<std::string> sums;
  std::shared_ptr<const Plan> firstPlan;
};

} // namespace

Status tpsp::checktool::checkLayers(const Options &options, Progress &progress,
                                    CheckReport &report) {
  return LayerCheck(options, progress, report).run();
}
