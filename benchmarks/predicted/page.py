"""What the page on predicted bounds says beside its tables."""

METHOD = """
[Predicted bounds](../predicted.md) says how they are made. `python -m benchmarks.predicted >
docs/results/predicted.md` writes this page from [recordings](../../recordings/README.md) of an
H200, an H100 and a V100, each of which is predicted from each other one. All errors are of
sequential bounds with fusion, whichever way they are off; *unscaled* is what they would be if the
other GPU's bound were taken as it is.
"""

SAME = """
## An H100 from an H200, and the other way round

The nine models of `onnx` and 23 others of the zoo at batch 1, under the accounting `full`, all of
whose layers were measured on both. *Data sheet* takes bandwidth and rates from both data sheets,
and launches and the cache's bandwidth as the measured GPU has them; *measured ceilings* takes what
the recordings have of both. The bar in the tables is that of `benanza bounds --on`, which was
chosen by these models.
"""

HELD = """
By ceilings it is above what was measured: the shortest call that an H100 recorded takes 0.91 µs, an
H200's 0.73, and the H200's are of three times as many layers; for the same calls of up to 1.5 µs
an H100 takes 1.07 times as long. By data sheets they are predicted to take the same.

## 15 models that nothing was chosen by

They were drawn at random of 38 models of the zoo before any bound was predicted. What a call is
divided into was chosen by the others, by the V100, and by calls, among which those of these models
were, too.
"""

OTHER = """
## A V100, and from a V100

Only in fp32, under the accounting `paper`, and of the layers and groups that libraries' calls were
timed of on both: of others the V100 has nothing, and predicted from it they are missing. It was
timed in 2019 with cuDNN 7.6, each call between two events, of which none took less than 6.3 µs:
what is called a launch there is mostly that. The bar is learned of these with the shortest call.
"""

END = """
## Where it fails

- **Other libraries, other ways of timing.** Between the V100 and the others lie seven years of
  kernels, and the time between two events. Neither is in a specification.
- **Launches.** No data sheet has them. At batch 1 many models are launches mostly: shufflenet's
  bound on a V100 is predicted at less than a quarter of what it took by data sheets alone.
- **Caches.** What moves more than the last cache holds is taken to come from the memory as a whole,
  and what moves less, from the cache. Near the size of the cache that is too fast: of gemma3-small
  a product that moves 49 MB takes 1.6 times as long in an H100's 52 MB as in an H200's 63 MB, where
  no difference is predicted; its bound is the furthest off of all on the H100, by 10%.
- **What no ceiling explains.** poolformer_s12 is 8% off: some of its calls that are far from all
  ceilings took up to 1.4 times as long on the H100. Nothing in a specification says why.
- **Matrix types that weren't measured.** fp16 on a V100 has next to no recorded layers, so that no
  GPU whose Tensor Cores are of another kind was ever left out in fp16, TF32 or bf16. Nothing says
  how far off the bound of an A100 or an L40S is in these. A type that the measured GPU lacks,
  such as float4, has no prediction.
- **Kernels for another kind.** Calls that use what only one kind of GPU has are predicted as if the
  other one had it, and kernels that only the other one has aren't seen.
- **One bar for all.** With three systems, two of them of one kind, there is one bar for the same
  compute capability and one for others. Had the H100 not been there, the bar for it would be the
  wide one, which holds all models, and says little.
"""
