"""What the process loads that all workers are forks of."""

from tests.reliability.races import worker

worker.load()
