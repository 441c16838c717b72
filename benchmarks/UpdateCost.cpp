// bench-update [MILLIONS] [ROUNDS]: measures AdamW's update of a matrix of
// MILLIONS million elements, on one rank with all cores. Compares it with a
// loop that reads and writes the same arrays and computes next to nothing. The
// two are measured in turns in one run, so that the machine's other load
// affects both alike. Prints medians.
#include "tpsp/Compile/Compiler.h"
#include "tpsp/InitAll.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/CommandObserver.h"
#include "tpsp/Runtime/Driver/Tensors/RandomData.h"
#include "tpsp/Runtime/World.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <thread>

using namespace tpsp;
using Clock = std::chrono::steady_clock;

namespace {

/// Records the seconds of each command of a step, in the plan's order.
class Durations : public rt::CommandObserver {
public:
  void ran(int64_t, const tpsp_rt_command &, Time begin, Time end) override {
    seconds.push_back(std::chrono::duration<double>(end - begin).count());
  }
  std::vector<double> seconds;
};

/// Columns of the matrix.
constexpr int64_t columns = 4096;

/// The parameter's gradient is the cotangent, an argument. So apart from the
/// forward pass the step is only the update.
std::string modelOf(int64_t elements) {
  return fmt::format("!w = tensor<{}x{}xf32, #tpsp.idx<e, d>>\n"
                     "func.func @f(%w: !w {{tpsp.param = \"w\"}}) -> "
                     "(!w {{tpsp.name = \"y\"}}) {{\n"
                     "  %y = tpsp.scale %w {{factor = 1.0 : f64}} : !w -> !w\n"
                     "  %z = tpsp.stop_gradient %y : !w -> !w\n"
                     "  %s = tpsp.sub %w, %z : (!w, !w) -> !w\n"
                     "  return %s : !w\n}}\n",
                     elements / columns, columns);
}

/// A compiled step on its rank.
struct Running {
  Plan plan;
  std::unique_ptr<JitProgram> program;
  std::unique_ptr<rt::World> world;
  Durations durations;

  /// Returns the seconds of the last step's commands, from the first that
  /// touches the optimizer's state. The commands before are the forward pass.
  double updateSeconds() const {
    auto touchesState = [&](const PlanCommand &command) {
      return std::any_of(command.accesses.begin(), command.accesses.end(),
                         [&](const PlanAccess &access) {
                           return plan.buffers[access.buffer].kind ==
                                  BufferKind::State;
                         });
    };
    size_t i = 0;
    while (i < plan.commands.size() && !touchesState(plan.commands[i]))
      ++i;
    double seconds = 0;
    for (; i < plan.commands.size(); ++i)
      seconds += durations.seconds.at(i);
    return seconds;
  }
};

rt::Status fill(rt::Rank &rank, const Plan &plan) {
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.isArgument())
      rt::RandomTensor(tensor, 0).fill(
          rt::Shard(tensor, plan.mesh, rank.coordinates()),
          rank.hostAddress(*tensor.offset));
  return {};
}

llvm::Error start(mlir::MLIRContext &context, int64_t elements,
                  Running &running) {
  CompileOptions options;
  options.grad = true;
  options.optimizer = "adamw";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(modelOf(elements),
                                                        &context, "update");
  auto model = compileModule(std::move(module), "update.mlir", options,
                             [](llvm::StringRef) {});
  if (!model)
    return model.takeError();
  running.plan = *model->plan;
  auto program = JitProgram::create(*model->module, running.plan.program);
  if (!program)
    return program.takeError();
  running.program = std::make_unique<JitProgram>(std::move(*program));
  rt::WorldConfig config;
  config.arenaBytes = running.plan.arenaBytes;
  config.observer = &running.durations;
  rt::Status status = rt::World::create(config, running.world);
  if (status.ok())
    status = running.world->run(
        [&](rt::Rank &rank) { return fill(rank, running.plan); });
  return status.ok() ? llvm::Error::success()
                     : llvm::createStringError(status.message());
}

/// AdamW in f32 reads parameter, gradient and two moments, and writes all but
/// the gradient.
constexpr double bytesOfElement = 7 * 4;

/// The floor: moves these bytes, without the formula.
class Floor {
public:
  explicit Floor(int64_t elements) {
    for (std::vector<float> &array : arrays)
      array.assign(elements, 0.5f);
  }

  double run() {
    auto begin = Clock::now();
    float *w = arrays[0].data(), *m = arrays[1].data(), *v = arrays[2].data();
    const float *g = arrays[3].data();
    auto elements = static_cast<int64_t>(arrays[0].size());
#pragma omp parallel for simd schedule(dynamic, 1 << 16)
    for (int64_t i = 0; i < elements; ++i) {
      w[i] = w[i] * 0.5f + g[i];
      m[i] = m[i] * 0.5f + g[i];
      v[i] = v[i] * 0.5f + g[i];
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

private:
  std::vector<float> arrays[4];
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(int64_t elements, const std::vector<double> &floors,
           const std::vector<double> &updates) {
  double bytes = bytesOfElement * double(elements);
  fmt::print("{:<34} {:>8.2f} ms {:>7.1f} GB/s\n",
             "the same arrays, no formula", median(floors) * 1e3,
             bytes / median(floors) * 1e-9);
  fmt::print("{:<34} {:>8.2f} ms {:>7.1f} GB/s\n", "update (AdamW)",
             median(updates) * 1e3, bytes / median(updates) * 1e-9);
  fmt::print("{:.3f} of its bytes over the bandwidth\n",
             median(updates) / median(floors));
}

} // namespace

int main(int argc, char **argv) {
  int64_t elements = (argc > 1 ? std::stoll(argv[1]) : 32) * 1000000;
  elements -= elements % columns;
  int rounds = argc > 2 ? std::stoi(argv[2]) : 15;
  rt::registerBuiltinBackends();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Running running;
  if (llvm::Error error = start(context, elements, running)) {
    fmt::print(stderr, "{}\n", llvm::toString(std::move(error)));
    return 1;
  }
  omp_set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  Floor floor(elements);
  std::vector<double> floors, updates;
  for (int round = 0; round <= rounds; ++round) {
    double alone = floor.run();
    running.durations.seconds.clear();
    rt::Status status = running.world->run([&](rt::Rank &rank) {
      TPSP_TRY(rank.step(running.program->step, running.plan));
      return rank.synchronize();
    });
    if (!status.ok()) {
      fmt::print(stderr, "{}\n", status.message());
      return 1;
    }
    // The first round only touches the memory.
    if (round == 0)
      continue;
    floors.push_back(alone);
    updates.push_back(running.updateSeconds());
  }
  print(elements, floors, updates);
  return 0;
}
