from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "code",
    [
        "import skynet; skynet.scorers.f1('a', 'a')",
        "import skynet; skynet.compose([skynet.scorers.f1])",
        "from skynet import compose, scorers; compose([scorers.f1])",
        "import skynet; assert {'scorers', 'compose'} <= set(dir(skynet))",
        "import skynet, sys; assert 'skynet.scorers' not in sys.modules",
    ],
)
def test_scorers_and_compose_are_names_of_skynet_loaded_on_use(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
