"""Everything that the pages say of the services, in one shell."""

from collections.abc import Sequence

from benanza_backbone.clickhouse.bounds import ModelBound
from tests.docs.walk import dead_letter, monitoring, services
from tests.docs.walk.backup import Backup
from tests.docs.walk.clone import FreshClone


def deployment(clone: FreshClone) -> Sequence[ModelBound]:
    """From nothing to bounds, dashboards, a dead letter that is replayed, and ClickHouse restored
    from its backups. All is stopped then; the bounds that were there.
    """
    with clone.shell() as shell:
        services.start(clone, shell)
        monitoring.start(clone, shell)
        services.wait(shell)
        with services.store(clone) as store:
            backup = Backup(clone, shell, store)
            letter = dead_letter.publish_refused(clone, shell)
            monitoring.check_pipeline(clone, shell)
            dead_letter.replay(clone, shell, letter)
            monitoring.check_models(store)
            backup.check()
            bounds = store.bounds()
        services.stop(shell)
        return bounds
