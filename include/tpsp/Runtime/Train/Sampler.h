/// Continues a sequence of tokens by those that a trained model finds likely.
///
///   Sampler sampler;
///   TPSP_TRY(Sampler::create(program, sampler));
///   TPSP_TRY(sampler.logitsAfter(tokens, logits));
///   tokens.push_back(drawToken(logits, temperature, uniform));
///
/// Each token runs the whole forward pass: nothing is kept from the token
/// before it.
#ifndef TPSP_RUNTIME_TRAIN_SAMPLER_H
#define TPSP_RUNTIME_TRAIN_SAMPLER_H

#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/Train/TrainingStep.h"

namespace tpsp::train {

class Sampler {
public:
  /// Finds the argument of tokens, [..., s], and the result `logits`, [..., s,
  /// v]. INVALID, with a way out, if the plan lacks one, or if `source` does
  /// not give an input that tokens do not give. The program must outlive `out`.
  static rt::Status create(LoadedProgram program,
                           const rt::TensorSource &source, Sampler &out);

  /// The length of the program's sequences: how many of the last tokens are
  /// read.
  int64_t length() const { return tokensInput->shape.back(); }
  int64_t vocabulary() const { return logits->shape.back(); }

  /// Writes the logits of the token after `tokens`, at least one of which there
  /// must be. Positions after the last token hold `padding`, which a causal
  /// model does not see. INVALID, with its place, for a token that the model
  /// does not take.
  rt::Status logitsAfter(const std::vector<int64_t> &tokens, int64_t padding,
                         std::vector<double> &out);

  /// INVALID if the logits after `tokens` depend on the tokens that follow.
  rt::Status checkCausal(const std::vector<int64_t> &tokens);

private:
  rt::Status setArguments(rt::Rank &rank, const std::vector<int64_t> &window,
                          std::vector<char> &staging) const;
  /// The integer at an element of an argument.
  int64_t valueAt(const PlanBuffer &tensor, int64_t element,
                  const std::vector<int64_t> &window) const;
  /// Reads the logits at a position of the first sequence.
  rt::Status readLogits(int64_t position, std::vector<double> &out) const;

  LoadedProgram program;
  const PlanBuffer *tokensInput = nullptr, *logits = nullptr;
};

/// The token with the largest logit, the first of several, if `temperature` is
/// 0. Otherwise draws one with probabilities softmax(logits / temperature);
/// `uniform` is a random number in [0, 1). -1 if no logit is finite.
int64_t drawToken(const std::vector<double> &logits, double temperature,
                  double uniform);

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_SAMPLER_H
