#include "sim/learn/codec.hpp"

#include <nlohmann/json.hpp>

namespace simsgd {

Tensor transmitted(Executor& executor, const MadeCodec& codec, const Tensor& values, const Stream& draws) {
  if (!values) return {};
  return executor.submit({values}, [codec, draws](TensorData& out, auto in) {
    out.values.resize(in[0]->values.size());
    codec->transmit(in[0]->values, draws, out.values);
  });
}

MadeCodec make_codec(const Json& object) {
  try {
    return find_plugin(codec_plugins(), object.value("name", ""), "codec").make(object);
  } catch (const ParameterError& error) {
    throw ParameterError("/codec" + error.key, error.problem, error.remedy);
  }
}

}  // namespace simsgd
