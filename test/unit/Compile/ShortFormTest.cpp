// Modules that have a short form, and modules that have none. shortForm itself
// checks that its text is read as the same module.
#include "tpsp/Dialect/Tpsp/Syntax/ShortForm.h"
#include "tpsp/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tpsp;

/// Returns the module of `text` in short form, "" if it has none.
static std::string shortened(const std::string &text) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  EXPECT_TRUE(bool(module)) << text;
  return module ? shortForm(*module).value_or("") : "";
}

/// Returns how often `part` is in `text`.
static size_t times(StringRef text, StringRef part) { return text.count(part); }

TEST(ShortFormTest, ExamplesHaveIt) {
  std::error_code error;
  unsigned examples = 0;
  for (llvm::sys::fs::directory_iterator it(TPSP_EXAMPLES, error), end;
       it != end && !error; it.increment(error), ++examples) {
    auto file = llvm::MemoryBuffer::getFile(it->path());
    ASSERT_TRUE(bool(file)) << it->path();
    StringRef written = (*file)->getBuffer();
    std::string text = shortened(written.str());
    ASSERT_NE(text, "") << it->path();
    // There are as many functions, repetitions and result types as in the
    // hand-written file.
    for (StringRef part : {"func ", "repeat ", "call "})
      EXPECT_EQ(times(text, part), times(written, part)) << it->path();
    EXPECT_LE(times(text, " -> ["), times(written, " -> [")) << it->path();
  }
  EXPECT_EQ(examples, 30u);
}

/// Returns functions that give a layer its parameters in long form.
static std::string longForm(const std::string &arguments) {
  return R"(
!w = tensor<3xf32, #tpsp.idx<d>>
func.func private @layer(%x: !w, %a: !w, %b: !w) -> !w {
  %y = tpsp.mul %x, %a : !w
  %z = tpsp.mul %y, %b : !w
  return %z : !w
}
func.func @model()" +
         arguments + R"() -> !w {
  %y = func.call @layer(%x, %a0, %b0) : (!w, !w, !w) -> !w
  %z = func.call @layer(%y, %a1, %b1) : (!w, !w, !w) -> !w
  return %z : !w
})";
}

TEST(ShortFormTest, NumberedParametersAreRepeated) {
  std::string text = shortened(longForm(R"(
    %x: !w {tpsp.name = "x"},
    %a0: !w {tpsp.param = "h.7.a"}, %b0: !w {tpsp.param = "h.7.b"},
    %a1: !w {tpsp.param = "h.8.a"}, %b1: !w {tpsp.param = "h.8.b"})"));
  EXPECT_NE(text.find("repeat 2 @layer(%x) as \"h.#.*\" from 7"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("h.7.a"), std::string::npos) << text;
}

TEST(ShortFormTest, OtherNumbersAreNot) {
  std::string text = shortened(longForm(R"(
    %x: !w {tpsp.name = "x"},
    %a0: !w {tpsp.param = "h.7.a"}, %b0: !w {tpsp.param = "h.7.b"},
    %a1: !w {tpsp.param = "h.9.a"}, %b1: !w {tpsp.param = "h.9.b"})"));
  EXPECT_EQ(times(text, "call @layer("), 2u) << text;
  EXPECT_NE(text.find("as \"h.9.*\""), std::string::npos) << text;
}

TEST(ShortFormTest, ParametersBeforeOthersAreWrittenOut) {
  std::string text = shortened(longForm(R"(
    %a0: !w {tpsp.param = "h.7.a"}, %b0: !w {tpsp.param = "h.7.b"},
    %a1: !w {tpsp.param = "h.8.a"}, %b1: !w {tpsp.param = "h.8.b"},
    %x: !w {tpsp.name = "x"})"));
  EXPECT_EQ(times(text, "call @layer("), 2u) << text;
  EXPECT_NE(text.find("\"h.8.b\""), std::string::npos) << text;
  EXPECT_EQ(text.find(" as "), std::string::npos) << text;
}

TEST(ShortFormTest, TwoExtentsOfAnIndexHaveNone) {
  EXPECT_EQ(shortened(R"(
func.func @f(%x: tensor<3xf32, #tpsp.idx<d>> {tpsp.name = "x"},
             %y: tensor<4xf32, #tpsp.idx<d>> {tpsp.name = "y"}) {
  return
})"),
            "");
}

TEST(ShortFormTest, ArgumentsWithoutNamesHaveNone) {
  EXPECT_EQ(shortened(R"(
func.func @f(%x: tensor<3xf32, #tpsp.idx<d>>) {
  return
})"),
            "");
}

TEST(ShortFormTest, CollectivesHaveNone) {
  EXPECT_EQ(shortened(R"(
tpsp.mesh @mesh <tp = 2>
!s = tensor<4xf32, #tpsp.idx<d@tp>>
!r = tensor<4xf32, #tpsp.idx<d>>
func.func @f(%x: !s {tpsp.name = "x"}) -> !r {
  %y = tpsp.all_gather %x ["tp"] : !s -> !r
  return %y : !r
})"),
            "");
}
