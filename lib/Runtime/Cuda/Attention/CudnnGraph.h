/// An attention command as a cuDNN graph, and the engine that runs the graph.
///
///     CudnnGraph graph;
///     graph.describe(command, isGradient, gpu);  // the request to cuDNN
///     graph.chooseEngine(handle);                // checks that cuDNN can
///     graph.build(handle);                       // compiles; needs the GPU
///     graph.run(handle, buffers, workspace);     // on the handle's stream
///
/// cuDNN's tensors are [batch, head, row, feature]. The heads and groups of a
/// command are flattened into cuDNN's heads.
///
/// The commands that cuDNN supports, as cuDNN 9.19 answers for the A100 and the
/// H100 (test/cudnn):
///
///   elements    f16 and bf16
///   features    multiples of 8, those of keys and of values each for
///               themselves; with gradients at most 128, on compute capability
///               9.0 at most 256. (Forward more are taken, too; beyond 256 the
///               H100 by the engine of the A100.)
///   queries,    any numbers; one query with one key has no gradients
///   keys
///   indices     in any order, the feature innermost, if heads and groups are
///               as one index: head = groups * group. Masked or not, groups or
///               none: the same
///   mask        from the first query and key on, or to the last of both where
///               there are no more queries than keys
///   window      with a mask, where there are no more queries than keys
///   soft-cap    any
///   segments,   the same for all heads
///   lengths
///   bias        none: cuDNN has no masks that start later beside it, and its
///               gradient reads the statistic
///   statistic   dense [batch, head, group, row]
///   addresses   multiples of 16 bytes
///
/// A row may have no key that counts if there are segments or lengths. cuDNN
/// has no such rows, so hidden scores are not minus infinity but
/// `cudnnHiddenScore`. The graph's result and statistic of such a row are
/// meaningless. BuiltinKernels::clearRows sets both. The backward graph wants
/// a finite statistic there, for which the row's weights are 0.
///
/// If a rank's queries start after the first key, the graph has only the keys
/// up to the position of the last query. Gradients of other keys are not
/// written.
///
/// Gradients are the same in every run if the 16-bit scores of all heads take
/// at most 32 MiB, which are then workspace. Otherwise the gradient of q is
/// added up in a varying order.
#ifndef TPSP_RUNTIME_CUDA_ATTENTION_CUDNNGRAPH_H
#define TPSP_RUNTIME_CUDA_ATTENTION_CUDNNGRAPH_H

#include "Runtime/Cuda/Core/CudaCheck.h"

#include "tpsp/Abi/Commands.h"

#include <cudnn_graph.h>

#include <memory>
#include <string>
#include <vector>

namespace tpsp::rt {

/// The GPU for which a graph is made.
struct CudnnGpu {
  /// 90 for compute capability 9.0.
  int version = 0;
  int multiprocessors = 0;
  /// The description of a GPU that this machine lacks, in cuDNN's own JSON. An
  /// engine can be chosen for it, but not built. Empty: the GPU of the handle.
  std::string description;
};

/// The score of a key that does not count, if cuDNN does not hide the key
/// itself. No other score is as low.
inline constexpr float cudnnHiddenScore = -1e30f;

class CudnnGraph {
public:
  CudnnGraph();
  CudnnGraph(const CudnnGraph &) = delete;
  ~CudnnGraph();

  /// The number of keys, from the first, that a graph has.
  static int64_t keysOf(const AttentionCommand &command, int64_t queryStart) {
    return queryStart > 0 ? command.seenKeys(queryStart) : command.keys;
  }

  /// Whether the command has segments or lengths. Then rows without keys are
  /// possible. After the command's other tensors the graph has the numbers of
  /// queries and of keys. A backward graph has a mask (SegmentsArguments).
  static bool hidesKeys(const AttentionCommand &command) {
    return command.hasSegments || command.hasLengths;
  }
  /// Elements of a row of the mask: 16 bytes are read at a time.
  static int64_t maskPitch(int64_t keys) { return (keys + 7) / 8 * 8; }
  /// Whether the forward graph writes a statistic. It says which rows have no
  /// keys, so the graph may have one that the command does not keep.
  static bool writesStatistic(const AttentionCommand &command) {
    return command.keepsStatistic || hidesKeys(command);
  }

  /// Called once. `queryStart` is the position, among the keys, of the first
  /// query under a causal mask. UNSUPPORTED if cuDNN has nothing for such a
  /// command.
  Status describe(const AttentionCommand &command, bool isGradient,
                  int64_t queryStart, const CudnnGpu &gpu);
  /// UNSUPPORTED if no engine takes the graph. `handle` is null for a GPU that
  /// this machine lacks.
  Status chooseEngine(cudnnHandle_t handle);
  Status build();
  /// Bytes of workspace. Valid after build().
  int64_t workspaceBytes() const { return bytes; }
  /// `buffers` are in the command's order, with a statistic if the graph has
  /// one. Numbers or a mask replace segments and lengths.
  Status run(cudnnHandle_t handle, const std::vector<std::byte *> &buffers,
             void *workspace);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
  int64_t bytes = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_ATTENTION_CUDNNGRAPH_H
