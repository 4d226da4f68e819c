"""The words of the page on the results of 2020."""

BEGIN = """# The results of 2020

Published bounds of densenet121 at batch 1 and 32, of shufflenet at batch 1 and of ResNet50-v1 at
batch 32 come out here as published. The others are within 11%, but for shufflenet at batch 32. Of
3,114 published layers of each of eight GPUs 2,922 are alike; why the others differ is known. An
H200 of 2026 takes a quarter of the V100's time for densenet121, and an eighth for shufflenet.

Benanza's paper (Li et al., IPDPS 2020) has its results in
[rai-project/dlperf](https://github.com/rai-project/dlperf). `recordings/nvidia-v100-2019.xz` holds
what they say of a Tesla V100 about the layers of the nine models of the `onnx` package, at batch 1
to 32, and of ResNet50-v1 as MXNet wrote it. So a V100 of 2019 can be compared with systems of
today:

```
benanza import recordings/nvidia-v100-2019.xz recordings/nvidia-h200.xz
benanza publish zoo:densenet121
benanza bounds --accounting paper --fusion off                            # names the systems
benanza bounds --accounting paper --fusion off --compare system=16a282    # the H200's id
```

`python -m study.paper2020 page CLONE > docs/results/paper-2020.md` wrote this page from a clone of
that repository. `python -m study.paper2020 record CLONE FILE --model MODEL` makes a recording of
other models, with `--gpu Tesla_T4` of another GPU. It prints what of the layers has no benchmark,
and which benchmarks belong to no layer.

## What is imported

- The clone has all benchmarks of ResNet50-v1 and MobileNet-v2 below `results/`, by algorithm. The
  files with those of all models, `results/Tesla_V100-SXM2-16GB/1.json` to `32.json`, are too large
  for some copies of the repository, and were not available. Instead there is what the
  published look-up found in them for each of the 30 models (`assets/benchinfo`): the fastest
  benchmark of each layer, so that what other algorithms take isn't known. Layers that are not there
  have the benchmarks below `results/`, if any has their sizes; so have all in fp16.
- Each benchmark states its call and all sizes, and the versions of cuDNN and cuBLAS; the driver's
  is that of `nvidia_smi.xml`. The versions of CUDA's runtime and driver are swapped. The layout is
  not stated. At batch 128 and 256, what failed activations say has the strides of NHWC; so it is
  left open here.
- A time is a mean over up to 111,930 calls, each between two CUDA events. There is no spread: ± 0.0
  means that none is known. The time holds that of the events: no call took less than 6.2
  µs, and 116 of the 151 layers of shufflenet at batch 1 took less than 10.
- A convolution with a bias is `cudnnConvolutionForward` and `cudnnAddTensor`, as published. The
  paper's fusion, `cudnnConvolutionBiasActivationForward`, is there for ResNet50-v1 only. Here it
  also stands for batch normalisation, whose factors are in the filter and the bias.

## Beside the published bounds

Sequential bounds in fp32 under `--accounting paper`, without fusion. *listed* are the layers that
the published bound has; *alike* those that have the same type and the same time here, up to 2 ns,
as published times are cut to nanoseconds; *missing* are layers that the accounting counts and that
have no time here, which bounds say. Layers in an *other mode* have the time of a benchmark that
computes something else: a clipped Relu for a Relu, batch normalisation by activations.
"""

DIFFERENCES = """
## What is in one of them only

Without fp16, where nearly all layers differ:
"""

REASONS = """
- *Other modes*: the published look-up takes the fastest benchmark of a call with the layer's sizes,
  whatever its mode. So does the import, and each variant names its mode.
- *Pooling*: of paddings that differ at both ends, the look-up takes the first for the height and
  the third for the width. Zero and −1 stand for any size there, so that no padding matches padding
  by one or two. Such layers are missing here, and named. So does the Relu of zfnet512 over 1,024
  numbers have the time of one over 1,024 × 7 × 7.
- *GlobalAveragePool* of squeezenet has a time there. The paper doesn't list it, so it is not
  counted here.
- *Dropout* does nothing when a model infers, so it is free here; there it has a time.
- *Gemm* of vgg19: its first product has 25,088 inputs, there 512.
- *Convolutions without a bias's benchmark*: the published sum holds the convolution without its
  bias, and the list neither. That is the first one of inception_v1, and 12 of ResNet50-v1 at batch
  1, of which 479.5 µs are in the sum. Here they are missing.
- *Batch 32*: behind a Reshape to a fixed shape, published bounds go on with batch 1: most of
  shufflenet, and the products of alexnet, zfnet512 and the inceptions. A bound at batch 32 can't
  count these, so they are missing here.
- *resnet50* of the zoo is another graph than ResNet50-v1: it has no biases, and a Softmax. With
  MXNet's graph all layers are alike.
- *fp16*: the published list is of another run than the file of the benchmarks: nearly each layer
  differs a little.
- The published parallel bounds (`assets/latency`) are of another run, too: that of VGG19, a chain,
  is 0.1% larger than its sequential one. They are not compared.
- The published fused bounds (`assets/fused_serial_latency`) fuse a convolution with its bias, and
  leave batch normalisation and Relu behind it alone. With fusion, bounds here fuse these, too, so
  they are not compared either.

## Other GPUs

Layers of the bounds in `serial_latency` at batch 1 and 32, of the same models but the zoo's
`resnet50`, from the results of each GPU. Those that are not alike are of the kinds above:
"""

BESIDE_H200 = """
## Beside an NVIDIA H200

The same bounds on both systems, with how many layers each lacks. The methods differ: on the V100
the times of small kernels hold those of the events around them, on the H200 calls are replayed in a
CUDA graph. So the ratio is not that of the GPUs alone.
"""
