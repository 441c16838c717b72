// Two dumps, without a program: the first difference, by the explanations that
// need no partial tensors.
#include "tpsp/Check/Check.h"

#include "BoundTensors.h"
#include "Hypotheses.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

/// The entry of a dump with the same role and name, or null.
static const DumpEntry *find(const Dump &dump, const DumpEntry &like) {
  for (const DumpEntry &entry : dump.entries)
    if (entry.role == like.role && entry.name == like.name)
      return &entry;
  return nullptr;
}

static RankValues valuesOf(const DumpEntry &entry) {
  RankValues values;
  for (const std::optional<DumpedTensor> &each : entry.ranks)
    values.push_back(each ? each->values : std::vector<double>());
  return values;
}

static bool haveOneShape(const DumpEntry &a, const DumpEntry &b) {
  for (size_t rank = 0; rank < a.ranks.size(); ++rank)
    if (a.ranks[rank].has_value() != b.ranks[rank].has_value() ||
        (a.ranks[rank] && a.ranks[rank]->shape != b.ranks[rank]->shape))
      return false;
  return true;
}

/// The mesh of one of the dumps; one axis of all ranks if they have none.
static Status meshOf(const Dump &right, const Dump &dump, rt::RankMesh &out) {
  if (right.numRanks != dump.numRanks)
    return rt::invalid("'{}' has files of {} ranks, and '{}' of {}; compare "
                       "runs of as many ranks",
                       right.path, right.numRanks, dump.path, dump.numRanks);
  std::vector<MeshAxis> axes = dump.mesh.empty() ? right.mesh : dump.mesh;
  if (axes.empty())
    axes = {{"ranks", dump.numRanks}};
  return rt::RankMesh::create(axes, out);
}

static TensorVerdict compare(const DumpEntry &entry, const DumpEntry *right,
                             const rt::RankMesh &mesh,
                             const CheckSettings &settings, int64_t dtype) {
  TensorVerdict verdict;
  verdict.title = entry.title();
  verdict.kind = VerdictKind::NotCompared;
  if (!right) {
    verdict.text = "only one of the dumps has it";
    return verdict;
  }
  if (!haveOneShape(entry, *right)) {
    verdict.text = "its shapes differ in the two dumps";
    return verdict;
  }
  TensorCase each;
  each.mesh = &mesh;
  each.values = valuesOf(entry);
  each.right = valuesOf(*right);
  each.tolerance = toleranceFor(each.right, {}, dtype);
  each.sources = factorSources(mesh.axes(), 1, settings.scale);
  judge(each, verdict);
  return verdict;
}

Status tpsp::check::checkDumps(const Dump &right, const Dump &dump,
                               const CheckSettings &settings,
                               CheckReport &report) {
  rt::RankMesh mesh;
  TPSP_TRY(meshOf(right, dump, mesh));
  report.model = right.path;
  report.dump = dump.path;
  report.mesh = mesh.axes();
  int64_t dtype = settings.dtype;
  if (dtype < 0)
    dtype = std::max(coarsestType(dump), coarsestType(right),
                     [](int64_t a, int64_t b) {
                       return rt::toleranceOf(a) < rt::toleranceOf(b);
                     });
  int64_t place = 0;
  for (const DumpEntry &entry : dump.entries) {
    report.tensors.push_back(
        compare(entry, find(right, entry), mesh, settings, dtype));
    // Activations come before gradients, which come in no known order.
    bool isForward = entry.role == DumpRole::Activation ||
                     entry.role == DumpRole::Parameter ||
                     entry.role == DumpRole::Loss;
    report.tensors.back().place =
        place++ + (isForward ? 0 : int64_t(dump.entries.size()));
  }
  for (const DumpEntry &entry : right.entries)
    if (!find(dump, entry)) {
      report.tensors.push_back(compare(entry, nullptr, mesh, settings, dtype));
      report.tensors.back().place = 2 * int64_t(dump.entries.size()) + place++;
    }
  return {};
}
