// What we write into Chakra traces beside what everybody understands, so that a job that is read back is the
// same: names of attributes, all of which other programs skip. Times of the schema are whole microseconds;
// ours are exact.
#pragma once

namespace simsgd::chakra {

// Of a file.
inline constexpr const char *kNetwork = "simsgd.network", *kRank = "simsgd.rank",
                            *kWorkers = "simsgd.workers", *kBatch = "simsgd.batch",
                            *kMicroBatches = "simsgd.micro_batches", *kDevice = "simsgd.device";
// Of every node.
inline constexpr const char *kStep = "simsgd.step", *kSeconds = "simsgd.seconds";
// Of computing: forward, backward, micro_batches (those before the last one), straggle or other; and the
// layer's number.
inline constexpr const char *kPass = "simsgd.pass", *kLayer = "simsgd.layer";
// Of a layer's forward pass in the first step: name, type, sides of its tensors (rows, columns or 0, ...),
// per sample.
inline constexpr const char *kLayerName = "simsgd.layer_name", *kType = "simsgd.type",
                            *kTensors = "simsgd.tensors", *kFlop = "simsgd.forward_flop",
                            *kActivations = "simsgd.activations";
// Of a collective: the whole array.
inline constexpr const char *kBytes = "simsgd.bytes", *kChannel = "simsgd.channel";

}  // namespace simsgd::chakra
