"""Reads logs on the nodes of a Ray cluster.

::

    RayReader (session)  <--socket-->  Stream of a ClusterReader (a process that speaks to Ray)
                                                   |  StreamReaders, one for each node
                                                 Streams of NodeReader (an actor on each node)

Every arrow carries the frames of ``rltui stream``, and who reads knows how far each file was read:
a replacement of any part (actor, node, process, head) resumes there. Every hop has back-pressure:
a stream blocks when its buffer is full.

Ray may end or abort a process whose cluster fails; it also prints to the terminal and starts
threads. So it runs in a process of its own, which is restarted when it ends.
"""
