"""OpenVINO as a framework, which runs whole models on the CPU. It needs the extra `cpu`."""
