// The only file that includes cudnn-frontend, which takes longer to compile
// than the rest of the backend together.
#include "CudnnGraph.h"

#include "CudnnLibrary.h"
#include "CudnnScores.h"

#include "tpsp/Abi/LibraryLimits.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace tpsp::rt {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

/// Gradients are the same in every run if the products of a head's
/// probabilities are stored separately. That takes two bytes for each score,
/// which are written and read once more. It is done up to this size, which fits
/// in a cache. For larger attentions it would take the very memory that fused
/// attention saves.
constexpr int64_t maxRepeatableBytes = 32 << 20;

/// The first version whose results with segments and lengths were seen.
constexpr size_t cudnnWithSegments = 91900;

/// A tensor's number is the position of its buffer in the command.
enum Forward { Query, Key, Value, Result, Statistic };
enum Backward { ResultGradient = Statistic + 1, QueryGradient };

std::string oneLine(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  // A long text goes on with cuDNN's verdict on every engine, which is cut off.
  return text.size() > 300 ? text.substr(0, 297) + "..." : text;
}

Status refuse(const std::string &why) {
  return {TPSP_RT_UNSUPPORTED,
          fmt::format("cuDNN {} has no such attention: {}; make the plan with "
                      "--attention rows",
                      cudnnVersion(), oneLine(why))};
}

/// `call` is a function of cudnn-frontend, whose message names the function of
/// cuDNN.
Status check(fe::error_object result, const char *call) {
  if (result.is_good())
    return {};
  if (result.get_code() == fe::error_code_t::GRAPH_NOT_SUPPORTED)
    return refuse(result.get_message());
  return {TPSP_RT_INTERNAL, fmt::format("cuDNN's {} failed: {}", call,
                                        oneLine(result.get_message()))};
}

/// cudnn-frontend throws if a function is missing.
template <typename Body> Status guarded(const char *call, Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return {TPSP_RT_INTERNAL,
            fmt::format("cuDNN's {} failed: {}", call, oneLine(error.what()))};
  }
}

Status checkLayout(const AttentionCommand &c, const AttentionLayout &layout,
                   const char *name) {
  if (areOneIndex(c.heads, c.groups, layout.head, layout.group))
    return {};
  return refuse(fmt::format("the heads of {} are {} elements apart and the {} "
                            "groups of a head {}, which is no single stride",
                            name, layout.head, c.groups, layout.group));
}

/// Builds the graph of one command.
class Builder {
public:
  Builder(const AttentionCommand &command, int64_t queryStart,
          fe::graph::Graph &graph)
      : c(command), graph(graph), keys(CudnnGraph::keysOf(command, queryStart)),
        scores(std::make_shared<CudnnScores>(command, queryStart > 0, keys)) {}

  void addForward();
  void addBackward();

private:
  /// A tensor of `rows` and `features` for each head of queries, or of keys.
  fe::graph::Tensor_attributes attributes(int64_t number, const char *name,
                                          const AttentionLayout &layout,
                                          bool ofQueries,
                                          int64_t features) const {
    int64_t heads = ofQueries ? c.heads * c.groups : c.heads;
    int64_t rows = ofQueries ? c.queries : keys;
    int64_t head = ofQueries && c.groups > 1 ? layout.group : layout.head;
    // The command does not specify the stride of a dimension of extent 1.
    int64_t all = c.batch * heads * rows * features;
    return fe::graph::Tensor_attributes()
        .set_name(name)
        .set_uid(number)
        .set_dim({c.batch, heads, rows, features})
        .set_stride({c.batch > 1 ? layout.batch : all, heads > 1 ? head : all,
                     rows > 1 ? layout.row : all, 1});
  }
  fe::graph::Tensor_attributes query(int64_t number, const char *name) const {
    return attributes(number, name, c.q, /*ofQueries=*/true, c.features);
  }
  fe::graph::Tensor_attributes key(int64_t number, const char *name) const {
    return attributes(number, name, c.k, /*ofQueries=*/false, c.features);
  }
  fe::graph::Tensor_attributes value(int64_t number, const char *name) const {
    return attributes(number, name, c.v, /*ofQueries=*/false, c.valueFeatures);
  }
  fe::graph::Tensor_attributes result(int64_t number, const char *name) const {
    return attributes(number, name, c.o, /*ofQueries=*/true, c.valueFeatures);
  }
  fe::graph::Tensor_attributes statistic() const {
    int64_t heads = c.heads * c.groups;
    return fe::graph::Tensor_attributes()
        .set_name("statistic")
        .set_uid(Statistic)
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim({c.batch, heads, c.queries, 1})
        .set_stride({heads * c.queries, c.queries, 1, 1});
  }

  /// Makes a result of an operation a result of the graph.
  static void deliver(const Tensor &tensor,
                      const fe::graph::Tensor_attributes &as) {
    tensor->set_output(true)
        .set_uid(as.get_uid())
        .set_dim(as.get_dim())
        .set_stride(as.get_stride());
    if (as.get_data_type() != fe::DataType_t::NOT_SET)
      tensor->set_data_type(as.get_data_type());
  }
  bool isRepeatable() const {
    return c.batch * c.heads * c.groups * c.queries * keys <=
           maxRepeatableBytes / 2;
  }

  const AttentionCommand &c;
  fe::graph::Graph &graph;
  /// The number of keys that the queries see.
  const int64_t keys;
  /// Graphs keep it until they are built.
  const std::shared_ptr<CudnnScores> scores;
};

void Builder::addForward() {
  Tensor q = graph.tensor(query(Query, "q"));
  Tensor k = graph.tensor(key(Key, "k"));
  Tensor v = graph.tensor(value(Value, "v"));
  fe::graph::SDPA_attributes options;
  bool wantsStatistic = CudnnGraph::writesStatistic(c);
  options.set_name("attention").set_generate_stats(wantsStatistic);
  // The implementation that all versions have. By default, cudnn-frontend
  // chooses another one without masks.
  options.set_implementation(fe::AttentionImplementation_t::COMPOSITE);
  scores->set(graph, options);
  auto [o, kept] = graph.sdpa(q, k, v, options);
  deliver(o, result(Result, "o"));
  if (wantsStatistic)
    deliver(kept, statistic());
}

void Builder::addBackward() {
  Tensor q = graph.tensor(query(Query, "q"));
  Tensor k = graph.tensor(key(Key, "k"));
  Tensor v = graph.tensor(value(Value, "v"));
  Tensor o = graph.tensor(result(Result, "o"));
  Tensor kept = graph.tensor(statistic());
  Tensor dO = graph.tensor(result(ResultGradient, "do"));
  fe::graph::SDPA_backward_attributes options;
  options.set_name("attention_gradient")
      .set_deterministic_algorithm(isRepeatable());
  scores->set(graph, options);
  scores->setGradient(options);
  auto [dQ, dK, dV] = graph.sdpa_backward(q, k, v, o, dO, kept, options);
  deliver(dQ, query(QueryGradient, "dq"));
  deliver(dK, key(QueryGradient + 1, "dk"));
  deliver(dV, value(QueryGradient + 2, "dv"));
}

bool differsBetweenHeads(const AttentionCommand &c) {
  auto has = [&](bool isThere, const AttentionLayout &layout) {
    return isThere && (layout.head > 0 || layout.group > 0);
  };
  return has(c.hasSegments, c.querySegments) ||
         has(c.hasSegments, c.keySegments) || has(c.hasLengths, c.lengths);
}

/// Checks that do not need cuDNN.
Status checkCommand(const AttentionCommand &c, bool isGradient,
                    int64_t queryStart) {
  std::string obstacle =
      cudnnObstacle({c.dtype, c.queries, c.keys, c.features, c.valueFeatures,
                     c.hasBias, differsBetweenHeads(c), queryStart, c},
                    isGradient);
  if (!obstacle.empty())
    return refuse(obstacle);
  if (CudnnGraph::hidesKeys(c) && !isCudnnSince(cudnnWithSegments))
    return refuse("segments and lengths were seen right from 9.19 on");
  TPSP_TRY(checkLayout(c, c.q, "q"));
  return checkLayout(c, c.o, "o");
}

Status setGpu(const CudnnGpu &gpu, fe::graph::Graph &graph) {
  graph.set_sm_version(gpu.version);
  graph.set_sm_count(gpu.multiprocessors);
  if (gpu.description.empty())
    return {};
  auto properties = std::make_shared<fe::DeviceProperties>();
  TPSP_TRY(check(
      properties->deserialize({gpu.description.begin(), gpu.description.end()}),
      "deserialize"));
  graph.set_device_properties(properties);
  return {};
}

} // namespace

struct CudnnGraph::Impl {
  fe::graph::Graph graph;
};

CudnnGraph::CudnnGraph() : impl(std::make_unique<Impl>()) {}
CudnnGraph::~CudnnGraph() = default;

Status CudnnGraph::describe(const AttentionCommand &command, bool isGradient,
                            int64_t queryStart, const CudnnGpu &gpu) {
  TPSP_TRY(loadCudnn());
  TPSP_TRY(checkCommand(command, isGradient, queryStart));
  return guarded("validate", [&]() -> Status {
    fe::graph::Graph &graph = impl->graph;
    graph
        .set_io_data_type(command.dtype == TPSP_RT_BF16
                              ? fe::DataType_t::BFLOAT16
                              : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    TPSP_TRY(setGpu(gpu, graph));
    Builder builder(command, queryStart, graph);
    isGradient ? builder.addBackward() : builder.addForward();
    return check(graph.validate(), "validate");
  });
}

Status CudnnGraph::chooseEngine(cudnnHandle_t handle) {
  return guarded("build_operation_graph", [&]() -> Status {
    fe::graph::Graph &graph = impl->graph;
    TPSP_TRY(check(handle ? graph.build_operation_graph(handle)
                          : graph.build_operation_graph(),
                   "build_operation_graph"));
    fe::error_object found = graph.create_execution_plans(
        {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
    if (found.get_code() == fe::error_code_t::HEURISTIC_QUERY_FAILED)
      return refuse(found.get_message());
    TPSP_TRY(check(found, "create_execution_plans"));
    fe::error_object fits = graph.check_support();
    if (fits.get_code() ==
        fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED)
      return refuse(fits.get_message());
    return check(fits, "check_support");
  });
}

Status CudnnGraph::build() {
  return guarded("build_plans", [&]() -> Status {
    TPSP_TRY(check(impl->graph.build_plans(), "build_plans"));
    return check(impl->graph.get_workspace_size(bytes), "get_workspace_size");
  });
}

Status CudnnGraph::run(cudnnHandle_t handle,
                       const std::vector<std::byte *> &buffers,
                       void *workspace) {
  return guarded("execute", [&] {
    // Sorted by number, as cudnn-frontend expects them.
    std::vector<void *> sorted(buffers.begin(), buffers.end());
    return check(impl->graph.execute(handle, sorted.data(), int(sorted.size()),
                                     workspace),
                 "execute");
  });
}

} // namespace tpsp::rt
