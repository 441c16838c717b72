#include "Hypotheses.h"
#include "Matching.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/NamePattern.h"
#include "tpsp/Check/Check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;

namespace {

/// Says what is missing and what is not needed, and whether that is proven.
class Conclusions {
public:
  explicit Conclusions(Matching &matching) : all(matching) {}

  void run() {
    for (const PartialSum &each : all.partial)
      addPartial(each);
    for (Need &need : all.needs)
      if (!need.isMatched)
        conclude(need);
    findNotNeeded();
  }

private:
  std::string over(const Axes &axes) const { return axesText(all.mesh, axes); }

  std::string groupText(const Made &made) const {
    return made.axes ? over(*made.axes) : "a group that the mesh does not have";
  }

  static std::string nameOfCall(const RecordedCall &call) {
    if (call.kind == CollectiveKind::Transfer)
      return call.isReceive ? "a receive" : "a send";
    return call.kind ? nameOf(*call.kind) : call.name;
  }

  //===--- Doubts
  //----------------------------------------------------------===//

  /// Why a sum over these axes may be complete although it is not recorded;
  /// empty if it cannot be. `own` is a call that is known to be another one.
  std::string doubtAbout(const Need &need, const Axes &axes,
                         const Made *own = nullptr) const {
    if (all.lost > 0)
      return fmt::format("the recorder's buffer has lost {} entries before the "
                         "first one; record fewer steps, or say their number "
                         "with --steps",
                         all.lost);
    if (need.row->gradients.empty() && need.elements <= fewElements)
      return "a loss, a count or a norm may be kept on each rank";
    for (const Made &made : all.calls)
      if (!made.isMatched && &made != own && mayReplace(made, axes))
        return fmt::format("the recording has {} of {} elements over {}, which "
                           "the program does not need; another layout may need "
                           "it in place of this",
                           nameOfCall(*made.call), made.call->elements,
                           groupText(made));
    for (const Need &other : all.needs)
      if (!other.isMatched && !isSum(other.kind) && !isOfParameter(other) &&
          meets(other.axes, axes))
        return fmt::format("the {} of {} over {} is not recorded, either: the "
                           "run may have another layout than the program",
                           nameOf(other.kind), other.row->tensor,
                           over(other.axes));
    return "";
  }

  static bool meets(const Axes &axes, const Axes &others) {
    return without(axes, others) != axes;
  }

  static bool mayReplace(const Made &made, const Axes &axes) {
    return meets(made.touched, axes) && made.call->elements > fewElements;
  }

  /// Whether a row moves a parameter: that is stored whole, or otherwise
  /// divided, without any sum being another.
  bool isOfParameter(const Need &need) const {
    for (const PlanBuffer &buffer : all.plan.buffers)
      if (buffer.kind == BufferKind::Parameter &&
          buffer.name == need.row->tensor)
        return true;
    return false;
  }

  //===--- Missing
  //---------------------------------------------------------===//

  /// Other rows that the recording cannot tell from this one: "z or g[n]".
  std::string tensorsLike(const Need &need) const {
    std::vector<std::string> names = {need.row->tensor};
    std::vector<std::string> patterns = {patternOf(need.row->tensor)};
    for (const Need &other : all.needs) {
      std::string pattern = patternOf(other.row->tensor);
      if (other.kind != need.kind || other.axes != need.axes ||
          other.elements != need.elements ||
          std::find(patterns.begin(), patterns.end(), pattern) !=
              patterns.end())
        continue;
      names.push_back(other.row->tensor);
      patterns.push_back(pattern);
    }
    constexpr size_t shown = 4;
    if (names.size() > shown) {
      names.resize(shown);
      names.back() = "another one of this size";
    }
    return fmt::format("{}", fmt::join(names, " or "));
  }

  void addPartial(const PartialSum &each) {
    add(TraceFault::Missing,
        fmt::format("the sum of {} over {} ({} elements): it is added up over "
                    "{} alone",
                    each.need->row->tensor, over(each.missing),
                    each.need->elements, over(each.done)),
        *each.need, doubtAbout(*each.need, each.missing), each.call);
  }

  TraceFinding &add(TraceFault fault, std::string text, const Need &need,
                    std::string doubt, const RecordedCall *call) {
    TraceOutcome outcome =
        doubt.empty() ? TraceOutcome::Wrong : TraceOutcome::Untold;
    TraceFinding &finding =
        all.addFinding(fault, outcome, std::move(text), &need, call);
    finding.doubt = std::move(doubt);
    return finding;
  }

  Made *unmatched(const Need &need, bool sameAxes, bool sameSize) {
    for (Made &made : all.calls)
      if (!made.isMatched && !made.isNamed && made.call->kind == need.kind &&
          made.isOver(need.axes) == sameAxes &&
          (made.call->elements == need.elements) == sameSize &&
          (made.call->elements > fewElements || sameSize))
        return &made;
    return nullptr;
  }

  void conclude(Need &need) {
    if (!isSum(need.kind))
      return concludeMovement(need);
    if (Made *made = unmatched(need, /*sameAxes=*/false, /*sameSize=*/true))
      return concludeOtherGroup(need, *made);
    std::string what = whatIs(need);
    if (Made *made = unmatched(need, /*sameAxes=*/true, /*sameSize=*/false)) {
      made->isNamed = true;
      add(TraceFault::OtherSize,
          fmt::format("{} has {} elements, and the recorded one {}{}", what,
                      need.elements, made->call->elements,
                      sizeText(made->call->elements)),
          need, doubtAbout(need, need.axes), made->call);
      return;
    }
    add(TraceFault::Missing,
        fmt::format("{} ({} elements)", what, need.elements), need,
        doubtAbout(need, need.axes), nullptr);
  }

  std::string whatIs(const Need &need) const {
    return fmt::format("the {} of {} over {}", nameOf(need.kind),
                       tensorsLike(need), fmt::join(need.row->axes, " and "));
  }

  /// A sum of the right size over other axes. It may be right over more axes,
  /// if it is a mean of copies.
  void concludeOtherGroup(Need &need, Made &made) {
    Axes missing = made.axes ? without(need.axes, *made.axes) : need.axes;
    std::string doubt =
        missing.empty()
            ? "a mean over copies is right; numbers tell it from a sum"
            : doubtAbout(need, missing, made.axes ? &made : nullptr);
    made.isNamed = true;
    add(TraceFault::OtherGroup,
        fmt::format("{} is over {}", whatIs(need), groupText(made)), need,
        std::move(doubt), made.call);
  }

  /// A gather that is missing does not run: the run has another layout.
  void concludeMovement(Need &need) {
    TraceFinding &finding =
        add(TraceFault::Missing,
            fmt::format("{} ({} elements)", whatIs(need), need.elements), need,
            isOfParameter(need)
                ? "the run may have the parameter whole"
                : "without it the shapes would not fit: the run has another "
                  "layout, or gets the data in another way",
            nullptr);
    if (isOfParameter(need))
      finding.outcome = TraceOutcome::Right;
  }

  //===--- Not needed
  //------------------------------------------------------===//

  /// The tensors of the program that have so many elements on a rank: "as many
  /// as g[w1]".
  std::string sizeText(int64_t elements) const {
    for (const PlanBuffer &buffer : all.plan.buffers) {
      int64_t bytes = rt::elementBytes(buffer.dtype);
      if (!buffer.name.empty() && bytes > 0 && buffer.bytes == elements * bytes)
        return fmt::format(", as many as {} has", buffer.name);
    }
    return "";
  }

  void findNotNeeded() {
    int64_t few = 0;
    for (Made &made : all.calls) {
      if (made.isMatched || made.isNamed)
        continue;
      if (made.call->elements <= fewElements && !repeatsGradient(made))
        ++few;
      else
        addNotNeeded(made);
    }
    if (few > 0)
      all.addNote(fmt::format(
          "calls of at most {} elements, taken for norms, losses and logs: {}",
          fewElements, few));
  }

  /// Whether the program needs a call of this kind, group and size for a
  /// gradient, so that this one may add it up twice.
  bool repeatsGradient(const Made &made) const {
    return std::any_of(
        all.needs.begin(), all.needs.end(), [&](const Need &need) {
          return !need.row->gradients.empty() && need.kind == made.call->kind &&
                 need.elements == made.call->elements && made.isOver(need.axes);
        });
  }

  void addNotNeeded(const Made &made) {
    const RecordedCall &call = *made.call;
    bool isMovement = call.kind && !isSum(call.kind);
    bool isHarmless = call.isExtremum || isMovement;
    std::string doubt = "it adds up nothing";
    if (!isHarmless)
      doubt = "a sum of what is complete is too large, and a mean of it is "
              "right; numbers decide (--numbers)";
    all.addFinding(TraceFault::NotNeeded,
                   isHarmless ? TraceOutcome::Right : TraceOutcome::Untold,
                   fmt::format("{} of {} elements over {}{}", nameOfCall(call),
                               call.elements, groupText(made),
                               sizeText(call.elements)),
                   nullptr, &call)
        .doubt = std::move(doubt);
  }

  Matching &all;
};

} // namespace

void tpsp::check::concludeMatching(Matching &matching) {
  Conclusions(matching).run();
}
