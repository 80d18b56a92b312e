#include "sim/learn/codec.hpp"

namespace simsgd {

Tensor transmitted(Executor& executor, const MadeCodec& codec, const Tensor& values, const Stream& draws) {
  if (!values) return {};
  return executor.submit({values}, [codec, draws](TensorData& out, auto in) {
    out.values.resize(in[0]->values.size());
    codec->transmit(in[0]->values, draws, out.values);
  });
}

}  // namespace simsgd
