<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Nodes: what needs a look (silent nodes, late figures, idle GPUs and cores), what each has and how much of it is in use, which job
	has which cores. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Nodes</xsl:variable>
<xsl:variable name="here">/web/nodes</xsl:variable>
<xsl:key name="running" match="/page/map/rows/item" use="@node"/>

<!-- The document has as many as the page. -->
<xsl:variable name="nodes" select="/page/nodes/nodes/item"/>
<xsl:variable name="totals" select="/page/nodes/totals"/>

<xsl:template name="content">
	<p><xsl:value-of select="f:count($totals/@up)"/> of <xsl:value-of select="f:count($totals/@up + $totals/@drain + $totals/@lost)"/> nodes are up<xsl:if
		test="$totals/@drain &gt; 0">, <xsl:value-of select="f:count($totals/@drain)"/> drained</xsl:if><xsl:if test="$totals/@lost &gt; 0">, <xsl:value-of select="f:count($totals/@lost)"/> lost</xsl:if>.
	Jobs have <xsl:value-of select="f:count($totals/held/@ncpus)"/> of <xsl:value-of select="f:count($totals/capacity/@ncpus)"/> cores<xsl:if
		test="$totals/capacity/@ngpus &gt; 0"> and <xsl:value-of select="f:count($totals/held/@ngpus)"/> of <xsl:value-of select="f:count($totals/capacity/@ngpus)"/> GPUs</xsl:if>.
	Enforcement tier 1 is exact; 2 and 3 say in their notes what they cannot hold or measure.</p>
	<xsl:if test="not(asked/@node)">
		<xsl:apply-templates select="watch"/>
	</xsl:if>
	<xsl:choose>
		<xsl:when test="$nodes"><xsl:call-template name="node-table"/><xsl:call-template name="map"/></xsl:when>
		<xsl:when test="asked/@node"><p class="none">There is no node of this name.</p></xsl:when>
		<xsl:otherwise><p class="none">No node has reported yet.</p></xsl:otherwise>
	</xsl:choose>
	<xsl:if test="not(asked/@node)"><xsl:apply-templates select="watch/waste[item]"/></xsl:if>
</xsl:template>

<!-- ==== what needs a look ==== -->

<xsl:template match="watch">
	<xsl:apply-templates select="silent[item]"/>
	<p class="note"><xsl:choose>
		<xsl:when test="@oldest_ns">Ingest lag: the oldest figures of a running job are <xsl:value-of select="f:duration((/page/@now_ns - @oldest_ns) div 1000000000)"/> old<xsl:choose>
			<xsl:when test="late/item">; later than three minutes, by node:
				<xsl:for-each select="late/item"><xsl:if test="position() &gt; 1">, </xsl:if><xsl:call-template name="node-link"/><xsl:text> </xsl:text><xsl:value-of select="f:duration-ns(@late_ns)"/></xsl:for-each></xsl:when>
		</xsl:choose>.</xsl:when>
		<xsl:otherwise>Ingest lag: no job runs that has reported.</xsl:otherwise>
	</xsl:choose>
	<xsl:for-each select="slurm/item"><xsl:text> Slurm's cluster </xsl:text><xsl:value-of select="@cluster"/>: <xsl:choose>
		<xsl:when test="@read_until_ns">accounting read up to <xsl:value-of select="f:time(@read_until_ns)"/>, <xsl:value-of select="f:duration((/page/@now_ns - @read_until_ns) div 1000000000)"/> ago</xsl:when>
		<xsl:otherwise>accounting not read yet</xsl:otherwise>
		</xsl:choose><xsl:if test="@told_ns">, its jobs told <xsl:value-of select="f:duration((/page/@now_ns - @told_ns) div 1000000000)"/> ago</xsl:if>.</xsl:for-each></p>
	<xsl:apply-templates select="idle_gpus[item]"/>
</xsl:template>

<xsl:template name="node-link">
	<a href="/web/nodes?node={f:encode(@node)}"><xsl:value-of select="@node"/></a>
</xsl:template>

<xsl:template match="silent">
	<p class="error"><strong><xsl:value-of select="f:count(../@n_silent)"/> silent: </strong>
	<xsl:for-each select="item">
		<xsl:if test="position() &gt; 1">, </xsl:if><xsl:call-template name="node-link"/> for <xsl:value-of select="f:duration((/page/@now_ns - @last_ns) div 1000000000)"/><xsl:if test="@lost"> (lost)</xsl:if>
	</xsl:for-each>
	<xsl:if test="../@n_silent &gt; count(item)"> and others</xsl:if>. Their jobs go on if the nodes do; they are reported when the node is heard again.</p>
</xsl:template>

<xsl:template match="idle_gpus">
	<p class="error"><strong>Allocated GPUs that do nothing: </strong>
	<xsl:for-each select="item">
		<xsl:if test="position() &gt; 1">; </xsl:if>
		job <xsl:call-template name="job-link"/> of <xsl:value-of select="@user"/> on <xsl:call-template name="node-link"/>, for <xsl:value-of select="f:duration-ns(@gpu_idle_ns)"/>
	</xsl:for-each><xsl:if test="../@n_idle_gpu_jobs &gt; count(item)"> and others</xsl:if>.</p>
</xsl:template>

<xsl:template match="waste">
	<h2 id="waste">Running jobs whose cores idle most</h2>
	<div class="scroll" tabindex="0" role="region" aria-label="Idle cores"><table class="narrow">
		<thead><tr><th scope="col">Job</th><th scope="col">Name</th><th scope="col">User</th><th scope="col">Account</th><th scope="col">Node</th>
			<th scope="col" class="figure">Cores</th><th scope="col" class="figure">Idle core-hours so far</th></tr></thead>
		<tbody><xsl:for-each select="item"><tr>
			<th scope="row"><xsl:call-template name="job-link"/></th><td class="name"><xsl:value-of select="@name"/></td><td><xsl:value-of select="@user"/></td><td><xsl:value-of select="@account"/></td>
			<td><xsl:call-template name="node-link"/></td>
			<td class="figure"><xsl:value-of select="@ncpus"/></td><td class="figure"><xsl:value-of select="f:hours(@idle_core_ms)"/></td></tr></xsl:for-each></tbody>
	</table></div>
</xsl:template>

<!-- ==== the table ==== -->

<xsl:template name="node-table">
	<div class="scroll" tabindex="0" role="region" aria-label="Nodes">
	<table>
		<thead><tr>
			<xsl:call-template name="head"><xsl:with-param name="by">node</xsl:with-param><xsl:with-param name="text">Node</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">cluster</xsl:with-param><xsl:with-param name="text">Cluster</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">state</xsl:with-param><xsl:with-param name="text">State</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">jobs</xsl:with-param><xsl:with-param name="text">Jobs</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<th scope="col">Cores in use</th>
			<th scope="col">Memory in use</th>
			<th scope="col" class="figure">GPUs free</th>
			<xsl:call-template name="head"><xsl:with-param name="by">tier</xsl:with-param><xsl:with-param name="text">Tier</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">last_ns</xsl:with-param><xsl:with-param name="text">Last report</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<th scope="col">Drain, notes</th>
		</tr></thead>
		<tbody><xsl:for-each select="$nodes">
			<xsl:sort select="number((@*|*/@*|*/*/@*)[name() = $sort])" data-type="number" order="{$order}"/>
			<xsl:sort select="(@*|*/@*|*/*/@*)[name() = $sort]" order="{$order}"/>
			<xsl:call-template name="node-row"/>
		</xsl:for-each></tbody>
	</table>
	</div>
	<xsl:call-template name="other-nodes"/>
</xsl:template>

<xsl:template name="node-row">
	<tr><th scope="row"><a href="/web/nodes?node={f:encode(@node)}"><xsl:value-of select="@node"/></a></th><td><xsl:value-of select="@cluster"/></td>
	<td><xsl:call-template name="state"/></td>
	<td class="figure"><xsl:value-of select="f:count(@jobs)"/></td>
	<td><span class="pair"><xsl:value-of select="held/@ncpus"/> of <xsl:value-of select="capacity/@ncpus"/></span>
		<xsl:call-template name="bar"><xsl:with-param name="part" select="held/@ncpus"/><xsl:with-param name="whole" select="capacity/@ncpus"/></xsl:call-template></td>
	<td><span class="pair"><xsl:value-of select="f:bytes(held/@mem_bytes)"/> of <xsl:value-of select="f:bytes(capacity/@mem_bytes)"/></span>
		<xsl:call-template name="bar"><xsl:with-param name="part" select="held/@mem_bytes"/><xsl:with-param name="whole" select="capacity/@mem_bytes"/></xsl:call-template></td>
	<td class="figure"><xsl:if test="capacity/@ngpus &gt; 0"><xsl:value-of select="capacity/@ngpus - held/@ngpus"/> of <xsl:value-of select="capacity/@ngpus"/></xsl:if></td>
	<td class="figure"><xsl:value-of select="@tier"/></td>
	<td class="figure"><xsl:value-of select="f:duration((/page/@now_ns - @last_ns) div 1000000000)"/> ago</td>
	<td class="sentence"><xsl:if test="drain"><xsl:value-of select="drain/@author"/>: <xsl:value-of select="drain/@reason"/>. </xsl:if>
		<xsl:for-each select="notes/item[position() &lt;= 3]"><xsl:value-of select="@text"/>. </xsl:for-each></td></tr>
</xsl:template>

<xsl:template name="other-nodes">
	<xsl:if test="nodes/@left_out &gt; 0">
		<p><xsl:value-of select="f:count(nodes/@left_out)"/> more nodes.
		<xsl:if test="nodes/@next"><a rel="next" href="/web/nodes?from={f:encode(nodes/@next)}">From <xsl:value-of select="nodes/@next"/> on</a></xsl:if></p>
	</xsl:if>
	<xsl:if test="asked/@from"><p><a href="/web/nodes">From the first node on</a></p></xsl:if>
</xsl:template>

<!-- ==== the map of cores ==== -->
<xsl:template name="map">
	<h2 id="map">Which job has which cores</h2>
	<xsl:choose>
		<xsl:when test="not(map/rows/item)"><p class="none">No job runs<xsl:if test="asked/@node"> here</xsl:if>.</p></xsl:when>
		<xsl:otherwise>
			<div class="scroll" tabindex="0" role="region" aria-label="Cores"><table class="map">
				<thead><tr><th scope="col">Node</th><th scope="col">Its cores, from 0 on the left</th><th scope="col">Jobs and their cores</th></tr></thead>
				<tbody><xsl:for-each select="$nodes[key('running', @node)]"><xsl:call-template name="map-row"/></xsl:for-each></tbody>
			</table></div>
			<xsl:if test="map/@next"><p>The map ends before node <a href="/web/nodes?node={f:encode(map/@next)}"><xsl:value-of select="map/@next"/></a>: a node's own page shows its cores.</p></xsl:if>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="map-row">
	<xsl:variable name="jobs" select="key('running', @node)"/>
	<!-- Numbers of hardware threads may go beyond the number of cores. -->
	<xsl:variable name="cores"><xsl:for-each select="$jobs/spans/item">
		<xsl:sort select="@first + @n" data-type="number" order="descending"/>
		<xsl:if test="position() = 1"><xsl:value-of select="@first + @n"/></xsl:if>
	</xsl:for-each></xsl:variable>
	<xsl:variable name="width"><xsl:choose>
		<xsl:when test="$cores &gt; capacity/@ncpus"><xsl:value-of select="$cores"/></xsl:when>
		<xsl:otherwise><xsl:value-of select="capacity/@ncpus"/></xsl:otherwise></xsl:choose></xsl:variable>
	<tr>
		<th scope="row"><xsl:value-of select="@node"/></th>
		<td><svg class="core-map" viewBox="0 0 {$width} 1" preserveAspectRatio="none" aria-hidden="true">
			<rect class="whole" width="{$width}" height="1"/>
			<xsl:for-each select="$jobs"><xsl:variable name="tone"><xsl:choose>
				<xsl:when test="not(@job)">other</xsl:when>
				<xsl:otherwise>tone<xsl:value-of select="position() mod 3"/></xsl:otherwise></xsl:choose></xsl:variable>
				<xsl:for-each select="spans/item"><rect class="{$tone}" x="{@first}" width="{@n}" height="1"/></xsl:for-each>
			</xsl:for-each>
		</svg></td>
		<td class="sentence"><xsl:for-each select="$jobs">
			<xsl:if test="position() &gt; 1">; </xsl:if>
			<xsl:choose>
				<xsl:when test="@job"><xsl:call-template name="job-link"/><xsl:text> </xsl:text><xsl:value-of select="@name"/><xsl:if test="/page/@operator"> of <xsl:value-of select="@user"/></xsl:if></xsl:when>
				<xsl:otherwise>another's job</xsl:otherwise>
			</xsl:choose>: <xsl:choose>
				<xsl:when test="@cpus != ''"><xsl:value-of select="translate(@cpus, ',', ' ')"/></xsl:when>
				<xsl:otherwise><xsl:value-of select="@ncpus"/> not reported yet</xsl:otherwise>
			</xsl:choose><xsl:if test="@ngpus &gt; 0">, <xsl:value-of select="@ngpus"/> GPU</xsl:if><xsl:if test="@suspended"> (suspended)</xsl:if>
		</xsl:for-each></td>
	</tr>
</xsl:template>
</xsl:stylesheet>
