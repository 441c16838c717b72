// Options by their names, as profiles give them.
#include "tpsp/Passes/Options/SetOption.h"
#include "tpsp/Planner/Profile.h"

#include <gmock/gmock.h>

using namespace tpsp;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(SetOption, SetsOptionsOfEveryType) {
  CompileOptions options;
  EXPECT_EQ(setOption(options, "epilogues", "off"), "");
  EXPECT_FALSE(options.epilogues);
  EXPECT_EQ(setOption(options, "overlap", "parameters"), "");
  EXPECT_EQ(options.overlap, "parameters");
  EXPECT_EQ(setOption(options, "optimizer-axes", "dp,fsdp"), "");
  EXPECT_THAT(options.optimizerAxes, ElementsAre("dp", "fsdp"));
  EXPECT_EQ(setOption(options, "bucket-bytes", "1024"), "");
  EXPECT_EQ(options.bucketBytes, 1024);
  EXPECT_EQ(setOption(options, "clip", "0.5"), "");
  EXPECT_EQ(options.clip, 0.5);
  EXPECT_EQ(setOption(options, "hardware", "h100-sxm"), "");
  EXPECT_EQ(options.hardware.name(), "h100-sxm");
}

TEST(SetOption, RefusesWhatAFlagWouldRefuse) {
  CompileOptions options;
  EXPECT_THAT(setOption(options, "overlapp", "on"),
              HasSubstr("no option of the compilation is called 'overlapp'"));
  EXPECT_THAT(setOption(options, "overlap", "all"),
              HasSubstr("no overlap is called 'all': off, backward, parameters "
                        "or on"));
  EXPECT_THAT(setOption(options, "epilogues", "yes"),
              HasSubstr("--epilogues has no value 'yes'"));
  for (const char *text : {"0", "-2", "two", "1.5", ""})
    EXPECT_THAT(setOption(options, "micro-batches", text),
                HasSubstr("--micro-batches has no value"));
  for (const char *text : {"-1", "nan", "much"})
    EXPECT_THAT(setOption(options, "overlap-memory", text),
                HasSubstr("--overlap-memory has no value"));
}

TEST(SetOption, ProfilesHaveOptionsThatThereAre) {
  for (const std::string &name : planner::builtinProfiles()) {
    CompileOptions options;
    for (const auto &[option, value] :
         llvm::cantFail(planner::findProfile(name)).options)
      EXPECT_EQ(setOption(options, option, value.value), "") << name;
  }
}

} // namespace
