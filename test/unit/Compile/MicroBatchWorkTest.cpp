// What a chunk of a pipeline takes for each micro-batch and what it takes once
// a step, held against steps that are compiled with two and with three
// micro-batches. A further micro-batch adds the former, and nothing else.
#include "tpsp/Compile/Compiler.h"
#include "tpsp/InitAll.h"
#include "tpsp/Schedule/ChunkWork.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// How a model is written, and how it is trained.
struct Case {
  const char *name;
  /// The axes of matrices, on d.
  const char *matrixAxes = "";
  const char *optimizer = "none";
  const char *optimizerAxes = "";
  const char *reduceDtype = "";
  bool clips = false;
};

const Case cases[] = {
    {"gradients"},
    {"FSDP", "@dp"},
    {"update", "", "adamw"},
    {"FSDP with an update", "@dp", "adamw"},
    {"ZeRO", "", "adamw", "dp"},
    {"ZeRO, in f32, clipped", "", "adamw", "dp", "f32", true},
};

/// Two layers and a table that is the head, too. Of the parameters of a layer
/// one is split, one renamed, one transposed; names have commas.
/// `microBatches`: of a batch of four each.
std::string model(int64_t microBatches, const Case &with) {
  std::string text = R"(
tpsp.program bf16 <b = BATCH, s = 8, d = 32, e = 64, f = e, q = 32, g = 4, k = 8, v = 48> {
mesh @mesh <dp = 2 : data, tp = 2 : model>
func private @layer(%x: [b@dp, s@tp, d], param %gain "norm, gain": [d],
                    param %q_proj "q, proj": [q, dAXES],
                    param %o_proj: [d, qAXES],
                    param %up "up,": [f@tp, dAXES],
                    param %down_t: [e@tp, dAXES]) -> [b@dp, s@tp, d] {
  %n = rms_norm %x, %gain
  %w_q = split %q_proj -> [g, k, d, ?]
  %h = einsum %w_q, %n -> [b, s, g, k, ?]
  %m = merge %h -> [b, s, q, ?]
  %o = einsum %o_proj, %m -> [b, s, d, ?]
  %w_up = rename %up -> [e, d, ?]
  %u = einsum %w_up, %n -> [b, s, e, ?]
  %a = silu %u
  %w_down = einsum %down_t -> [d, e, ?]
  %y = einsum %w_down, %a -> [b, s, d, ?]
  %z = add %x, %y
  %z_1 = add %z, %o -> [b@dp, s@tp, d]
  return %z_1
}
func @f(%tokens: i32[b@dp, s@tp], param %table "table, and head": [v, dAXES])
    -> [b@dp, s@tp, v] {
  %x = embedding %tokens, %table {vocabulary = "v"} -> [b@dp, s@tp, d]
  %x2 = repeat 2 @layer(%x) as "layers.#.*"
  %logits = einsum %table, %x2 -> [b@dp, s@tp, v]
  return %logits
}
}
)";
  auto replaceAll = [&](StringRef old, const std::string &by) {
    for (size_t at; (at = text.find(old.str())) != std::string::npos;)
      text.replace(at, old.size(), by);
  };
  replaceAll("BATCH", std::to_string(4 * microBatches));
  replaceAll("AXES", with.matrixAxes);
  return text;
}

/// What collectives send, and how long they take alone.
struct Sent {
  int64_t bytes = 0;
  double seconds = 0;

  void add(const tpsp::Plan &plan, const CostModel &cost) {
    for (const PlanCommand &command : plan.commands)
      if (command.communicates()) {
        bytes += plan.timesOf(command) * command.collective.bytesSent;
        seconds += double(plan.timesOf(command)) * cost.cost(command).seconds;
      }
  }
};

struct MicroBatchWork : testing::TestWithParam<Case> {
  MicroBatchWork() : context(registry(), MLIRContext::Threading::DISABLED) {
    options.grad = true;
    options.hardware = "h100-sxm";
    options.optimizer = GetParam().optimizer;
    options.reduceDtype = GetParam().reduceDtype;
    options.clip = GetParam().clips ? 1 : 0;
    if (*GetParam().optimizerAxes)
      options.optimizerAxes = {GetParam().optimizerAxes};
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// Compiled whole: `microBatches`, each of which is four sequences.
  std::shared_ptr<const tpsp::Plan> compile(int64_t microBatches) {
    SmallString<64> path;
    int file;
    EXPECT_FALSE(
        llvm::sys::fs::createTemporaryFile("parts", "mlir", file, path));
    llvm::FileRemover remover(path);
    llvm::raw_fd_ostream(file, /*shouldClose=*/true)
        << model(microBatches, GetParam());
    options.microBatches = microBatches;
    std::string message;
    ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str() + "\n";
    });
    auto compiled = compileModel(context, path, options, [](StringRef) {});
    EXPECT_TRUE(bool(compiled))
        << message << llvm::toString(compiled.takeError());
    return compiled ? compiled->plan : nullptr;
  }

  Sent sentBy(int64_t microBatches) {
    auto plan = compile(microBatches);
    Sent sent;
    if (plan)
      sent.add(*plan, CostModel(*findHardware("h100-sxm"), Mesh(plan->mesh)));
    return sent;
  }

  /// As a chunk of a pipeline has it: for each micro-batch, and once a step.
  std::pair<Sent, Sent> sentByChunk() {
    auto plan = compile(1);
    std::pair<Sent, Sent> sent;
    if (!plan)
      return sent;
    CostModel cost(*findHardware("h100-sxm"), Mesh(plan->mesh));
    auto visit = [&](const tpsp::Plan &segment, const SimulatedStep &,
                     bool isUpdate) {
      (isUpdate ? sent.second : sent.first).add(segment, cost);
    };
    auto work = chunkWork(*plan, cost, {0, 0}, /*parts=*/2, visit);
    EXPECT_TRUE(bool(work)) << llvm::toString(work.takeError());
    if (work)
      expectSums(*plan, *work);
    return sent;
  }

  /// A gradient is added up in f32, and whole along an axis that divides its
  /// parameter until it is reduce-scattered.
  static void expectSums(const tpsp::Plan &plan, const ChunkWork &work) {
    for (const PlanBuffer &buffer : plan.buffers) {
      if (buffer.kind != BufferKind::Parameter)
        continue;
      bool isDivided = llvm::any_of(buffer.axes, [&](const auto &axes) {
        return llvm::is_contained(axes, /*dp=*/0);
      });
      auto sum = work.gradients.find(buffer.number);
      ASSERT_NE(sum, work.gradients.end()) << buffer.name;
      EXPECT_EQ(sum->second, buffer.bytes * 2 * (isDivided ? 2 : 1))
          << buffer.name;
    }
  }

  MLIRContext context;
  CompileOptions options;
};

TEST_P(MicroBatchWork, AFurtherMicroBatchAddsItsOwnCollectives) {
  // With a collective for each tensor, and in buckets, whose latencies differ.
  for (int64_t bucketBytes : {0, 25 << 20}) {
    options.bucketBytes = bucketBytes;
    auto [each, once] = sentByChunk();
    Sent two = sentBy(2), three = sentBy(3);
    EXPECT_GT(once.bytes, 0);
    EXPECT_EQ(three.bytes - two.bytes, each.bytes);
    // A norm's gain may be updated in parts, and gathered.
    EXPECT_NEAR(two.bytes - 2 * each.bytes, once.bytes, 0.01 * once.bytes);
    if (bucketBytes == 0)
      EXPECT_NEAR(three.seconds - two.seconds, each.seconds, 1e-9);
  }
}

// A chunk's kernels leave to products what the products of the whole step add.
// These are matrices, also split or transposed ones. A gain, and a table that
// is the head, too, are added by kernels.
TEST_P(MicroBatchWork, ProductsAddAsInTheWholeStep) {
  auto one = compile(1), three = compile(3);
  ASSERT_TRUE(one && three);
  CostModel cost(*findHardware("h100-sxm"), Mesh(one->mesh));
  double added = 0;
  for (const PlanCommand &command : three->commands)
    if (llvm::is_contained(command.epilogue, rt::EpilogueStep::Add)) {
      const MatmulWork &work = command.matmul;
      double sum = double(work.m * work.n * work.batch) * sizeof(float);
      added += cost.copySeconds(2.5 * sum);
    }
  EXPECT_GT(added, 0);
  SumOptions byKernels;
  byKernels.inProducts = false;
  auto apart = chunkWork(*one, cost, {0, 0}, /*parts=*/3, nullptr, byKernels),
       together = chunkWork(*one, cost, {0, 0}, /*parts=*/3);
  ASSERT_TRUE(apart && together);
  EXPECT_EQ(apart->sumsInProducts, 0);
  EXPECT_LE(together->scratch, apart->scratch);
  // A chunk converts gradients before it squares them, which kernels do.
  if (GetParam().clips)
    return;
  EXPECT_NEAR(apart->sums - together->sums, added, 1e-12);
  EXPECT_GT(together->sumsInProducts, 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, MicroBatchWork, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case> &info) {
                           std::string name;
                           for (char c : std::string(info.param.name))
                             if (llvm::isAlnum(c))
                               name += c;
                           return name;
                         });

} // namespace
