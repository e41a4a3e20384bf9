<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Group usage: by compute resource, by allocation project, by submitter; each row opens to the other two and to months. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:import href="storage.xsl"/>
<xsl:variable name="title">Usage</xsl:variable>
<xsl:variable name="here">/web/usage</xsl:variable>
<xsl:variable name="asked" select="/page/asked"/>
<xsl:variable name="by"><xsl:choose>
	<xsl:when test="$asked/@by"><xsl:value-of select="$asked/@by"/></xsl:when>
	<xsl:otherwise>account</xsl:otherwise>
</xsl:choose></xsl:variable>
<!-- Who used most stands first. sort=tree: projects in the order of their tree, which is that of the document. -->
<xsl:variable name="sort"><xsl:choose>
	<xsl:when test="$asked/@sort"><xsl:value-of select="$asked/@sort"/></xsl:when>
	<xsl:when test="$by != 'month'">counts_ms</xsl:when>
</xsl:choose></xsl:variable>
<!-- A site with targets counts in years, others in hours. -->
<xsl:variable name="in-years" select="/page/usage/@has_targets = 'true'"/>
<xsl:variable name="unit"><xsl:choose>
	<xsl:when test="$in-years">years</xsl:when>
	<xsl:otherwise>hours</xsl:otherwise>
</xsl:choose></xsl:variable>
<!-- Which columns there are, found once: to look at all rows for each of them is quadratic. -->
<xsl:variable name="has-allocations" select="boolean(/page/usage/rows/item/@allocation_ms)"/>
<xsl:variable name="has-projections" select="boolean(/page/usage/*/item/@projected_by_year_ms)"/>
<xsl:variable name="charged"><xsl:choose>
	<xsl:when test="$in-years">Equivalent years</xsl:when>
	<xsl:otherwise>Charged, <xsl:value-of select="/page/usage/@unit"/></xsl:otherwise>
</xsl:choose></xsl:variable>

<xsl:template name="content">
	<xsl:call-template name="tabs"/>
	<xsl:call-template name="filters"/>
	<xsl:apply-templates select="project/rows/item[@account = $asked/@account and @pool = 'cpu']" mode="project"/>
	<xsl:apply-templates select="project/rows/item[@account = $asked/@account and @pool = 'gpu']" mode="project"/>
	<xsl:if test="$asked/@account"><xsl:call-template name="storage-note">
		<xsl:with-param name="account" select="$asked/@account"/><xsl:with-param name="allotted" select="quota/quotas/item/@storage_bytes"/>
	</xsl:call-template></xsl:if>
	<xsl:choose>
		<xsl:when test="usage/rows/item"><xsl:call-template name="rows"/></xsl:when>
		<xsl:otherwise><p class="none">Nothing was charged in this period.</p></xsl:otherwise>
	</xsl:choose>
	<xsl:if test="months/rows/item and $by != 'month'"><xsl:call-template name="months"/></xsl:if>
	<xsl:if test="storage/storage/item and ($by = 'account' or $asked/@account)">
		<xsl:call-template name="storage-table"><xsl:with-param name="rows" select="storage/storage/item"/></xsl:call-template>
	</xsl:if>
</xsl:template>

<!-- ==== links: the query of the page with one thing changed ==== -->

<xsl:template name="query">
	<xsl:param name="by" select="$by"/>
	<xsl:param name="cluster" select="$asked/@cluster"/>
	<xsl:param name="account" select="$asked/@account"/>
	<xsl:param name="user" select="$asked/@user"/>
	<xsl:param name="start" select="$asked/@start"/>
	<xsl:param name="end" select="$asked/@end"/>
	<xsl:value-of select="concat('/web/usage?by=', f:encode($by))"/>
	<xsl:if test="$cluster != ''"><xsl:value-of select="concat('&amp;cluster=', f:encode($cluster))"/></xsl:if>
	<xsl:if test="$account != ''"><xsl:value-of select="concat('&amp;account=', f:encode($account))"/></xsl:if>
	<xsl:if test="$user != ''"><xsl:value-of select="concat('&amp;user=', f:encode($user))"/></xsl:if>
	<xsl:if test="$start != ''"><xsl:value-of select="concat('&amp;start=', f:encode($start))"/></xsl:if>
	<xsl:if test="$end != ''"><xsl:value-of select="concat('&amp;end=', f:encode($end))"/></xsl:if>
</xsl:template>

<xsl:template name="by-tab">
	<xsl:param name="value"/>
	<xsl:param name="text"/>
	<li><a>
		<xsl:attribute name="href"><xsl:call-template name="query"><xsl:with-param name="by" select="$value"/></xsl:call-template></xsl:attribute>
		<xsl:if test="$value = $by"><xsl:attribute name="aria-current">page</xsl:attribute></xsl:if>
		<xsl:value-of select="$text"/></a></li>
</xsl:template>

<xsl:template name="tabs">
	<ul class="tabs">
		<xsl:call-template name="by-tab"><xsl:with-param name="value">cluster</xsl:with-param><xsl:with-param name="text">By compute resource</xsl:with-param></xsl:call-template>
		<xsl:call-template name="by-tab"><xsl:with-param name="value">account</xsl:with-param><xsl:with-param name="text">By allocation project</xsl:with-param></xsl:call-template>
		<xsl:call-template name="by-tab"><xsl:with-param name="value">user</xsl:with-param><xsl:with-param name="text">By submitter</xsl:with-param></xsl:call-template>
	</ul>
</xsl:template>

<!-- ==== which period, whose ==== -->

<xsl:template name="filters">
	<nav aria-label="Period"><ul class="tabs small">
		<xsl:for-each select="usage/periods/item">
			<li><a>
				<xsl:attribute name="href"><xsl:call-template name="query">
					<xsl:with-param name="start" select="@start"/><xsl:with-param name="end" select="@end"/>
				</xsl:call-template></xsl:attribute>
				<xsl:if test="@start = /page/usage/@start and @end = /page/usage/@end"><xsl:attribute name="aria-current">true</xsl:attribute></xsl:if>
				<xsl:value-of select="@label"/></a><xsl:if test="contains(@label, ' month')"><span class="note"> (<xsl:value-of select="substring(@start, 1, 7)"/>)</span></xsl:if></li>
		</xsl:for-each>
	</ul></nav>
	<p>
		<xsl:choose>
			<xsl:when test="$asked/@user"><strong><xsl:value-of select="$asked/@user"/></strong></xsl:when>
			<xsl:when test="usage/@narrowed_to">Your own usage (the project's coordinators see that of all submitters)</xsl:when>
			<xsl:otherwise>All submitters</xsl:otherwise>
		</xsl:choose>
		<xsl:if test="$asked/@account"> in project <strong><xsl:value-of select="$asked/@account"/></strong></xsl:if>
		<xsl:if test="$asked/@cluster"> on <strong><xsl:value-of select="$asked/@cluster"/></strong></xsl:if>
		<xsl:if test="not(@operator) and not($asked/@account)"> of the projects whose usage you may see; of your other projects your own usage</xsl:if>.
		<xsl:if test="usage/@start and usage/@end">From <xsl:value-of select="usage/@start"/> up to <xsl:value-of select="usage/@end"/>, not included<xsl:if test="usage/@gone_ppm">: <xsl:value-of select="f:percent(usage/@gone_ppm, 1000000)"/> of it is gone</xsl:if><xsl:if test="usage/@outage_ns">, <xsl:value-of select="f:percent(usage/@due_ppm, 1000000)"/> without the outages that were declared, which marks and projections leave out</xsl:if>.</xsl:if>
		<xsl:if test="$asked/@user or $asked/@account or $asked/@cluster"><xsl:text> </xsl:text>
			<a><xsl:attribute name="href"><xsl:call-template name="query">
				<xsl:with-param name="cluster"/><xsl:with-param name="account"/><xsl:with-param name="user"/>
			</xsl:call-template></xsl:attribute>Show all</a></xsl:if>
	</p>
	<details><xsl:if test="$asked/@start and not(usage/periods/item[@start = $asked/@start and @end = $asked/@end])"><xsl:attribute name="open">open</xsl:attribute></xsl:if>
		<summary>Another period or project</summary>
	<form method="get" action="/web/usage" class="filter">
		<input type="hidden" name="by" value="{$by}"/>
		<label>From <input type="date" name="start" value="{$asked/@start}"/></label>
		<label>to, not included, <input type="date" name="end" value="{$asked/@end}"/></label>
		<label>Project <input name="account" size="12" value="{$asked/@account}"/></label>
		<label>Submitter <input name="user" size="8" value="{$asked/@user}"/></label>
		<label>Cluster <input name="cluster" size="8" value="{$asked/@cluster}"/></label>
		<button type="submit">Show</button>
	</form></details>
</xsl:template>

<!-- ==== one project ==== -->

<!-- Milliseconds of a charge in the site's unit. -->
<xsl:template name="amount">
	<xsl:param name="ms"/>
	<xsl:choose>
		<xsl:when test="$in-years"><xsl:value-of select="f:years($ms)"/></xsl:when>
		<xsl:otherwise><xsl:value-of select="f:hours($ms)"/></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- How much of the allocation is used, and a mark where the period stands. -->
<xsl:template name="progress">
	<xsl:param name="used-ppm"/>
	<xsl:param name="gone-ppm"/>
	<svg class="bar progress" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
		<rect class="whole" width="100" height="8"/>
		<rect class="part" y="1.5" height="5">
			<xsl:attribute name="width"><xsl:choose>
				<xsl:when test="$used-ppm &gt; 1000000">100</xsl:when>
				<xsl:otherwise><xsl:value-of select="$used-ppm div 10000"/></xsl:otherwise>
			</xsl:choose></xsl:attribute>
			<xsl:if test="$used-ppm &gt; 1000000"><xsl:attribute name="class">part over</xsl:attribute></xsl:if>
		</rect>
		<xsl:if test="$gone-ppm != ''"><rect class="mark" x="{$gone-ppm div 10000 - 0.4}" width="0.8" height="8"/></xsl:if>
	</svg>
</xsl:template>

<xsl:template match="item" mode="project">
	<section>
		<h2><xsl:value-of select="@account"/>, <xsl:value-of select="@pool"/></h2>
		<xsl:variable name="of"><xsl:choose>
			<xsl:when test="$in-years and @pool = 'gpu'"> GPU-equivalent years</xsl:when>
			<xsl:when test="$in-years"> core-equivalent years</xsl:when>
			<xsl:otherwise><xsl:value-of select="concat(' ', /page/usage/@unit)"/></xsl:otherwise>
		</xsl:choose></xsl:variable>
		<xsl:if test="@words"><p class="sentence"><xsl:value-of select="@words"/></p></xsl:if>
		<dl>
			<xsl:if test="@title"><dt>Title</dt><dd><xsl:value-of select="@title"/></dd></xsl:if>
			<dt>Owners</dt><dd><xsl:choose>
				<xsl:when test="@owners"><xsl:value-of select="@owners"/></xsl:when>
				<xsl:otherwise>no coordinator is named</xsl:otherwise>
			</xsl:choose></dd>
			<dt>Allocation</dt><dd><xsl:choose>
				<xsl:when test="@allocation_ms"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@allocation_ms"/></xsl:call-template><xsl:value-of select="$of"/> within the period</xsl:when>
				<xsl:otherwise>none in this period</xsl:otherwise>
			</xsl:choose></dd>
			<dt>Used</dt><dd><xsl:call-template name="amount"><xsl:with-param name="ms" select="@with_below_ms"/></xsl:call-template><xsl:value-of select="$of"/>
				<xsl:if test="@used_ppm">: <xsl:value-of select="f:percent(@used_ppm, 1000000)"/> of the allocation<xsl:if test="../../@due_ppm">, with <xsl:value-of select="f:percent(../../@due_ppm, 1000000)"/> of the period gone<xsl:if test="../../@outage_ns"> without outages</xsl:if> (the mark)</xsl:if>
					<xsl:call-template name="progress"><xsl:with-param name="used-ppm" select="@used_ppm"/><xsl:with-param name="gone-ppm" select="../../@due_ppm"/></xsl:call-template>
				</xsl:if></dd>
			<xsl:if test="@projected_by_year_ms">
				<dt>Projected</dt><dd><xsl:call-template name="amount"><xsl:with-param name="ms" select="@projected_by_recent_ms"/></xsl:call-template><xsl:value-of select="$of"/> at the end of the period if it goes on as in the last <xsl:value-of select="../../@recent_days"/> days;
					<xsl:call-template name="amount"><xsl:with-param name="ms" select="@projected_by_year_ms"/></xsl:call-template> if as in the whole period so far</dd>
			</xsl:if>
		</dl>
	</section>
</xsl:template>

<!-- ==== the table ==== -->

<!-- Bars of a pool are as long as they are beside its largest row: core and GPU equivalents are two units. -->
<xsl:template name="largest">
	<xsl:param name="rows"/>
	<xsl:for-each select="$rows">
		<xsl:sort select="@counts_ms" data-type="number" order="descending"/>
		<xsl:if test="position() = 1"><xsl:value-of select="@counts_ms"/></xsl:if>
	</xsl:for-each>
</xsl:template>

<xsl:template name="pool-bar">
	<xsl:param name="largest-cpu"/>
	<xsl:param name="largest-gpu"/>
	<xsl:choose>
		<xsl:when test="@pool = 'gpu'"><xsl:call-template name="bar"><xsl:with-param name="part" select="@counts_ms"/><xsl:with-param name="whole" select="number($largest-gpu)"/></xsl:call-template></xsl:when>
		<xsl:otherwise><xsl:call-template name="bar"><xsl:with-param name="part" select="@counts_ms"/><xsl:with-param name="whole" select="number($largest-cpu)"/></xsl:call-template></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="rows">
	<xsl:variable name="largest-cpu"><xsl:call-template name="largest"><xsl:with-param name="rows" select="usage/rows/item[@pool = 'cpu']"/></xsl:call-template></xsl:variable>
	<xsl:variable name="largest-gpu"><xsl:call-template name="largest"><xsl:with-param name="rows" select="usage/rows/item[@pool = 'gpu']"/></xsl:call-template></xsl:variable>
	<section><h2><xsl:choose>
		<xsl:when test="$by = 'cluster'">Compute resources</xsl:when>
		<xsl:when test="$by = 'user'">Submitters</xsl:when>
		<xsl:when test="$by = 'month'">Months</xsl:when>
		<xsl:otherwise>Allocation projects</xsl:otherwise>
	</xsl:choose></h2>
	<p class="note">Core-<xsl:value-of select="$unit"/> and GPU-<xsl:value-of select="$unit"/> count the cores and GPUs that jobs had.
	<xsl:choose>
		<xsl:when test="$in-years">Equivalents, which priority and allocations go by, count a job by the largest of its shares of cores, memory and GPUs: they are more where memory decided.</xsl:when>
		<xsl:otherwise>What is charged differs where memory, GPUs or the queue decide the price of a job.</xsl:otherwise>
	</xsl:choose></p>
	<xsl:if test="$by != 'month'"><xsl:call-template name="most"/></xsl:if>
	<xsl:if test="$by = 'account' and usage/rows/item/@depth &gt; 0">
		<p class="note"><xsl:choose>
			<xsl:when test="$sort = 'tree'">In the order of the tree. <a><xsl:attribute name="href"><xsl:call-template name="query"/></xsl:attribute>Who used most first</a></xsl:when>
			<xsl:otherwise><a><xsl:attribute name="href"><xsl:call-template name="query"/>&amp;sort=tree</xsl:attribute>In the order of the tree of projects</a></xsl:otherwise>
		</xsl:choose></p>
	</xsl:if>
	<div class="scroll" tabindex="0" role="region" aria-label="Usage">
	<table class="wide">
		<thead><xsl:call-template name="heads"/></thead>
		<tbody><xsl:apply-templates select="usage/rows/item" mode="usage">
			<xsl:sort select="number((@*|*/@*|*/*/@*)[name() = $sort])" data-type="number" order="{$order}"/>
			<xsl:sort select="(@*|*/@*|*/*/@*)[name() = $sort]" order="{$order}"/>
			<xsl:with-param name="largest-cpu" select="$largest-cpu"/>
			<xsl:with-param name="largest-gpu" select="$largest-gpu"/>
		</xsl:apply-templates></tbody>
		<tfoot><xsl:apply-templates select="usage/totals/item" mode="usage"/></tfoot>
	</table>
	</div>
	<xsl:if test="usage/@left_out &gt; 0"><p class="note"><xsl:value-of select="f:count(usage/@left_out)"/> more rows, which used less, are in the totals alone:
		name a project, a cluster or a shorter period to see them.</p></xsl:if>
	</section>
</xsl:template>

<!-- A sentence for each pool: the row that used most, and its part of the total. -->
<xsl:template name="most">
	<xsl:for-each select="usage/totals/item[@counts_ms &gt; 0]">
		<xsl:variable name="total" select="."/>
		<xsl:for-each select="../../rows/item[@pool = $total/@pool]">
			<xsl:sort select="@counts_ms" data-type="number" order="descending"/>
			<xsl:if test="position() = 1 and last() &gt; 1">
				<p class="answer"><xsl:value-of select="concat('Most of ', @pool, ': ')"/><strong><xsl:value-of select="@account|@user|@cluster"/></strong><xsl:text> with </xsl:text>
				<xsl:call-template name="amount"><xsl:with-param name="ms" select="@counts_ms"/></xsl:call-template>
				<xsl:choose>
					<xsl:when test="$in-years"> equivalent years</xsl:when>
					<xsl:otherwise><xsl:value-of select="concat(' ', /page/usage/@unit)"/></xsl:otherwise>
				</xsl:choose>
				<xsl:value-of select="concat(', ', f:percent(@counts_ms, $total/@counts_ms), ' of what all used.')"/></p>
			</xsl:if>
		</xsl:for-each>
	</xsl:for-each>
</xsl:template>

<xsl:template name="heads">
	<tr>
		<xsl:if test="usage/rows/item/@month"><th scope="col">Month</th></xsl:if>
		<xsl:if test="usage/rows/item/@account"><xsl:call-template name="head"><xsl:with-param name="by">account</xsl:with-param><xsl:with-param name="text">Project</xsl:with-param></xsl:call-template></xsl:if>
		<xsl:if test="usage/rows/item/@user"><xsl:call-template name="head"><xsl:with-param name="by">user</xsl:with-param><xsl:with-param name="text">Submitter</xsl:with-param></xsl:call-template></xsl:if>
		<xsl:if test="usage/rows/item/@cluster"><xsl:call-template name="head"><xsl:with-param name="by">cluster</xsl:with-param><xsl:with-param name="text">Cluster</xsl:with-param></xsl:call-template></xsl:if>
		<th scope="col">Pool</th>
		<xsl:if test="$has-allocations">
			<xsl:call-template name="head"><xsl:with-param name="by">used_ppm</xsl:with-param><xsl:with-param name="text">Used of allocation</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">used_up</xsl:with-param><xsl:with-param name="text">Used up on</xsl:with-param></xsl:call-template>
		</xsl:if>
		<xsl:call-template name="head"><xsl:with-param name="by">counts_ms</xsl:with-param><xsl:with-param name="text" select="$charged"/></xsl:call-template>
		<xsl:call-template name="head"><xsl:with-param name="by">core_ms</xsl:with-param><xsl:with-param name="text">Core-<xsl:value-of select="$unit"/></xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
		<xsl:call-template name="head"><xsl:with-param name="by">gpu_ms</xsl:with-param><xsl:with-param name="text">GPU-<xsl:value-of select="$unit"/></xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
		<xsl:if test="$has-allocations"><th scope="col" class="figure">Allocation</th></xsl:if>
		<xsl:if test="$has-projections">
			<xsl:call-template name="head"><xsl:with-param name="by">projected_by_year_ms</xsl:with-param><xsl:with-param name="text">Projected</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">projected_by_recent_ms</xsl:with-param><xsl:with-param name="text">By last <xsl:value-of select="usage/@recent_days"/> days</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
		</xsl:if>
		<xsl:call-template name="head"><xsl:with-param name="by">jobs_started</xsl:with-param><xsl:with-param name="text">Jobs</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
		<xsl:if test="$by != 'month'"><th scope="col">Show</th></xsl:if>
	</tr>
</xsl:template>

<!-- The first cell of the row of totals; its other names are empty. -->
<xsl:template name="names">
	<xsl:choose>
		<xsl:when test="parent::totals"><th scope="row">Total</th>
			<xsl:variable name="columns" select="/page/usage/rows/item[1]"/>
			<xsl:if test="count($columns/@month|$columns/@account|$columns/@user|$columns/@cluster) &gt; 1"><td colspan="{count($columns/@month|$columns/@account|$columns/@user|$columns/@cluster) - 1}"/></xsl:if></xsl:when>
		<xsl:otherwise>
			<xsl:if test="@month"><th scope="row" class="pair"><xsl:call-template name="month-link"/></th></xsl:if>
			<xsl:if test="@account"><th scope="row" class="name">
				<xsl:if test="$sort = 'tree'"><xsl:attribute name="class">name depth<xsl:value-of select="@depth"/></xsl:attribute></xsl:if>
				<a><xsl:attribute name="href"><xsl:call-template name="query"><xsl:with-param name="by">user</xsl:with-param><xsl:with-param name="account" select="@account"/></xsl:call-template></xsl:attribute><xsl:value-of select="@account"/></a>
				<xsl:if test="@title"><span class="note under"><xsl:value-of select="@title"/></span></xsl:if>
				<xsl:if test="@own_only"><span class="note under">your own usage</span></xsl:if></th></xsl:if>
			<xsl:if test="@user"><th scope="row" class="name">
				<a><xsl:attribute name="href"><xsl:call-template name="query"><xsl:with-param name="by"><xsl:choose>
					<xsl:when test="$asked/@cluster">month</xsl:when>
					<xsl:otherwise>cluster</xsl:otherwise>
				</xsl:choose></xsl:with-param><xsl:with-param name="user" select="@user"/></xsl:call-template></xsl:attribute><xsl:value-of select="@user"/></a></th></xsl:if>
			<xsl:if test="@cluster"><th scope="row" class="name">
				<a><xsl:attribute name="href"><xsl:call-template name="query"><xsl:with-param name="by">account</xsl:with-param><xsl:with-param name="cluster" select="@cluster"/></xsl:call-template></xsl:attribute><xsl:value-of select="@cluster"/></a></th></xsl:if>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- The same table of that month alone; of a table by month, its submitters. -->
<xsl:template name="month-link">
	<a><xsl:attribute name="href"><xsl:call-template name="query">
		<xsl:with-param name="by"><xsl:choose>
			<xsl:when test="$by = 'month'">user</xsl:when>
			<xsl:otherwise><xsl:value-of select="$by"/></xsl:otherwise>
		</xsl:choose></xsl:with-param>
		<xsl:with-param name="start" select="@start"/><xsl:with-param name="end" select="@end"/>
	</xsl:call-template></xsl:attribute><xsl:value-of select="@month"/><span class="hidden">, <xsl:value-of select="@pool"/></span></a>
</xsl:template>

<!-- What a row opens to, besides what its name does. -->
<xsl:template name="opens">
	<xsl:param name="by"/>
	<xsl:param name="text"/>
	<xsl:param name="at"/>
	<a>
		<xsl:attribute name="href"><xsl:call-template name="query">
			<xsl:with-param name="by" select="$by"/>
			<xsl:with-param name="cluster" select="@cluster|$asked/@cluster[not(current()/@cluster)]"/>
			<xsl:with-param name="account" select="@account|$asked/@account[not(current()/@account)]"/>
			<xsl:with-param name="user" select="@user|$asked/@user[not(current()/@user)]"/>
		</xsl:call-template><xsl:value-of select="$at"/></xsl:attribute>
		<xsl:value-of select="$text"/></a>
</xsl:template>

<xsl:template match="item" mode="usage">
	<xsl:param name="largest-cpu"/>
	<xsl:param name="largest-gpu"/>
	<tr>
		<xsl:call-template name="names"/>
		<td><xsl:value-of select="@pool"/></td>
		<xsl:if test="$has-allocations">
			<td><xsl:choose>
				<xsl:when test="@used_ppm"><span class="pair"><xsl:value-of select="f:percent(@used_ppm, 1000000)"/></span>
					<xsl:call-template name="progress"><xsl:with-param name="used-ppm" select="@used_ppm"/><xsl:with-param name="gone-ppm" select="/page/usage/@due_ppm"/></xsl:call-template></xsl:when>
				<xsl:otherwise>-</xsl:otherwise>
			</xsl:choose></td>
			<td class="pair"><xsl:choose>
			<xsl:when test="@used_up"><span class="state bad"><xsl:value-of select="@used_up"/></span></xsl:when>
			<xsl:when test="@used_ppm &gt;= 1000000"><span class="state bad">used up</span></xsl:when>
			<xsl:when test="@words">not in the period</xsl:when>
			<xsl:otherwise>-</xsl:otherwise>
		</xsl:choose></td>
		</xsl:if>
		<td><span class="pair"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@counts_ms"/></xsl:call-template></span>
			<xsl:if test="parent::rows"><xsl:call-template name="pool-bar">
				<xsl:with-param name="largest-cpu" select="$largest-cpu"/><xsl:with-param name="largest-gpu" select="$largest-gpu"/>
			</xsl:call-template></xsl:if></td>
		<td class="figure"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@core_ms"/></xsl:call-template></td>
		<td class="figure"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@gpu_ms"/></xsl:call-template></td>
		<xsl:if test="$has-allocations"><td class="figure"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@allocation_ms"/></xsl:call-template></td></xsl:if>
		<xsl:if test="$has-projections">
			<td class="figure"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@projected_by_year_ms"/></xsl:call-template></td>
			<td class="figure"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@projected_by_recent_ms"/></xsl:call-template></td>
		</xsl:if>
		<td class="figure"><xsl:value-of select="f:count(@jobs_started)"/></td>
		<xsl:if test="$by != 'month'"><td><xsl:if test="parent::rows">
			<xsl:if test="@account or @cluster"><xsl:call-template name="opens"><xsl:with-param name="by">user</xsl:with-param><xsl:with-param name="text">submitters</xsl:with-param></xsl:call-template>, </xsl:if>
			<xsl:call-template name="opens"><xsl:with-param name="by" select="$by"/><xsl:with-param name="text">months</xsl:with-param><xsl:with-param name="at">#months</xsl:with-param></xsl:call-template>
		</xsl:if></td></xsl:if>
	</tr>
</xsl:template>

<!-- ==== by month ==== -->

<xsl:template name="months">
	<xsl:variable name="largest-cpu"><xsl:call-template name="largest"><xsl:with-param name="rows" select="months/rows/item[@pool = 'cpu']"/></xsl:call-template></xsl:variable>
	<xsl:variable name="largest-gpu"><xsl:call-template name="largest"><xsl:with-param name="rows" select="months/rows/item[@pool = 'gpu']"/></xsl:call-template></xsl:variable>
	<section><h2 id="months">By month</h2>
	<div class="scroll" tabindex="0" role="region" aria-label="Usage by month">
	<table>
		<thead><tr><th scope="col">Month</th><th scope="col">Pool</th><th scope="col"><xsl:value-of select="$charged"/></th>
			<th scope="col" class="figure">Core-<xsl:value-of select="$unit"/></th><th scope="col" class="figure">GPU-<xsl:value-of select="$unit"/></th>
			<th scope="col" class="figure">Jobs</th><th scope="col">Show</th></tr></thead>
		<tbody><xsl:for-each select="months/rows/item">
			<tr><th scope="row" class="pair"><xsl:call-template name="month-link"/></th><td><xsl:value-of select="@pool"/></td>
				<td><span class="pair"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@counts_ms"/></xsl:call-template></span>
					<xsl:call-template name="pool-bar"><xsl:with-param name="largest-cpu" select="$largest-cpu"/><xsl:with-param name="largest-gpu" select="$largest-gpu"/></xsl:call-template></td>
				<td class="figure"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@core_ms"/></xsl:call-template></td>
				<td class="figure"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@gpu_ms"/></xsl:call-template></td>
				<td class="figure"><xsl:value-of select="f:count(@jobs_started)"/></td>
				<td class="pair"><a><xsl:attribute name="href"><xsl:call-template name="query"><xsl:with-param name="by">user</xsl:with-param><xsl:with-param name="start" select="@start"/><xsl:with-param name="end" select="@end"/></xsl:call-template></xsl:attribute>submitters<span class="hidden"> of <xsl:value-of select="@month"/>, <xsl:value-of select="@pool"/></span></a></td></tr>
		</xsl:for-each></tbody>
	</table>
	</div></section>
</xsl:template>
</xsl:stylesheet>
