// The tensors of one part of a model, out of a dump of all of it.
#ifndef TPSP_TOOLS_TPSP_CHECK_LAYERDUMP_H
#define TPSP_TOOLS_TPSP_CHECK_LAYERDUMP_H

#include "Opened.h"

#include "tpsp/Abi/ModelPart.h"
#include "tpsp/Check/Names.h"

namespace tpsp::checktool {

/// The purpose of checking a part.
enum class LayerUse {
  Gradients, ///< gradients and values inside
  Update     ///< new parameters alone
};

/// The plan of a part, with the model's names.
std::shared_ptr<const Plan> named(const ModelPart &part, const Plan &plan);

class LayerDump {
public:
  /// `options` must outlive it.
  explicit LayerDump(const Options &options) : options(options) {}

  /// Reads the names of the dump's tensors. Ranks along the axis of stages get
  /// the tensors of each other; -1 if the model has none.
  rt::Status open(int64_t stageAxis);
  /// Calls `visit(entry, name)` for every name in the model of every tensor.
  void forEach(const std::function<void(const check::DumpEntry &,
                                        const std::string &)> &visit) const;
  /// The dumped names of values of the part, without the part's own name.
  std::vector<std::string> innerValues(const ModelPart &part) const;
  /// Reads the tensors of a part. Gradients that are sums over parts are left
  /// out.
  rt::Status read(const ModelPart &part, const Plan &plan, LayerUse use,
                  check::Dump &out) const;
  /// Reads the norm of all gradients; `out` has at most one entry.
  rt::Status readNorm(check::Dump &out) const;

private:
  rt::Status
  read(const Plan &plan,
       const std::function<bool(check::DumpRole, const std::string &)> &keeps,
       check::Dump &out) const;
  rt::Status fillStages(const Plan &plan, check::Dump &dump) const;

  const Options &options;
  check::NameMap names;
  /// The dump without its values.
  check::Dump titles;
  int64_t stageAxis = -1;
};

/// Multiplies the cotangents by a factor, and with them all gradients. That of
/// a loss, which no dump needs to have, is 1 otherwise.
void scaleCotangents(const Plan &plan, double factor, check::Dump &dump);
/// Adds zeros for state of parameters that the dump lacks. Whether it lacks
/// any.
bool addZeroState(const Plan &plan, check::Dump &dump);
/// Removes the tensors of other roles.
void keepRole(check::DumpRole role, check::Dump &dump);

} // namespace tpsp::checktool

#endif // TPSP_TOOLS_TPSP_CHECK_LAYERDUMP_H
