"""Mistakes that people make, and what tells them how to mend each: a part of the line they get.

`FOLDER` stands for a folder with `model.onnx`, a network; `text.onnx`, which is none;
`broken.json`; and an empty folder `empty`.
"""

FOLDER = "{folder}"

MODEL = f"{FOLDER}/model.onnx"

MISTAKES: tuple[tuple[str, str], ...] = (
    # Commands and options.
    ("bound", "did you mean bounds"),
    ("explan x", "did you mean explain"),
    ("whatif x", "did you mean what-if"),
    ("benchmark x", "see benanza --help"),
    ("--data x bounds", "--data"),
    ("run", "MODEL"),
    ("bounds --hlep", "--help"),
    ("bounds --precison fp16", "--precision"),
    ("explain x --sytem a", "--system"),
    ("run x --bathc 8", "--batch"),
    ("layers --limt 3", "--limit"),
    ("explain", "MODEL"),
    ("explain a b", "b"),
    ("import", "FILE"),
    ("tasks x", "--out"),
    ("sql", "SQL"),
    ("sql SHOW -o tables.csv", "--format csv"),
    # Values of options.
    ("run x --precision fp61", "fp16"),
    ("bounds --precision half", "fp16"),
    ("run x --batch 0", "whole number from 1"),
    ("run x --batch eight", "whole number from 1"),
    ("bounds --batch 1,8", "--batch"),
    ("run x --dim batch", "NAME=N"),
    ("run x --dim batch=-1", "whole number from 0"),
    ("run x --value sr", "sr=16000"),
    ("bounds --at yesterday", "2026-11-21"),
    ("bounds --compare fp16", "precision=P"),
    ("bounds --format yaml", "json"),
    ("bounds --fusion yes", "on"),
    ("bounds --accounting all", "paper"),
    ("run x --runtime cudnn", "onnxruntime"),
    ("run x --quantised int3", "int4"),
    ("generation x --sequences 3", "--rate"),
    (f"evaluate {MODEL} --configuration fastest", "it has default options"),
    ("generation x --rate 3 --prompt-length 64-2", "from 1 on"),
    ("layers --limit 0", "--limit"),
    ("evaluate x --rate inf", "no finite number"),
    ("evaluate x --repeat 0", "--repeat"),
    ("evaluations wait x --timeout nan", "no finite number"),
    ("gate x --max-ratio nan", "no finite number"),
    ("completion tcsh", "bash"),
    ("bounds --at 2026-11-21 --on gpu.toml", "leave out --at"),
    ("run a b --spec broken.json", "no more than its MODEL"),
    # Models.
    ("run squeezenet", "say zoo:squeezenet"),
    ("run squeznet", "say zoo:squeezenet"),
    ("run zoo:squeznet", "did you mean zoo:squeezenet"),
    (f"inspect {FOLDER}/modle.onnx", "did you mean"),
    ("inspect nowhere/x.onnx", "benanza zoo"),
    (f"inspect {FOLDER}/empty", "name the .onnx file in it"),
    (f"inspect {FOLDER}/text.onnx", "text.onnx"),
    (f"inspect {MODEL} --dim lenght=3", "length"),
    (f"inspect {MODEL} --value y=3", "y"),
    (f"publish {FOLDER}/empty", "name a folder that does"),
    ("inspect zoo:resnet18", "zoo"),
    ("inspect s3:/bucket/model.onnx", "s3"),
    # What isn't there.
    (f"bounds --data {FOLDER}/nowhere", "benanza run MODEL"),
    (f"explain zoo:squeezenet --data {FOLDER}/nowhere", "benanza run MODEL"),
    (f"status --data {FOLDER}/nowhere", "benanza run MODEL"),
    (f"sql SHOW --data {FOLDER}/nowhere", "benanza run MODEL"),
    ("import nowhere.xz", "nowhere.xz"),
    (f"import {FOLDER}/text.onnx", "text.onnx"),
    (f"run --spec {FOLDER}/broken.json", "benanza spec"),
    (f"trace {FOLDER}/broken.json", "broken.json"),
    ("trace nowhere.json", "nowhere.json"),
    ("gate zoo:squeezenet", "--max-ratio"),
    (f"solve {FOLDER}/empty kernel.py --by me", "task"),
    ("topics", "BENANZA_KAFKA"),
    ("publish zoo:squeezenet --wait", "BENANZA_KAFKA"),
)
