<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- What all pages have: head, navigation, the state of a table's data, an error, formats of figures. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:output method="html" encoding="UTF-8" indent="no" doctype-system="about:legacy-compat"/>
<xsl:strip-space elements="*"/>

<!-- Each page sets these. -->
<xsl:variable name="title">Reeve</xsl:variable>
<xsl:variable name="here"/>

<xsl:template match="/page">
	<html lang="en">
		<head>
			<meta name="viewport" content="width=device-width, initial-scale=1"/>
			<title><xsl:value-of select="$title"/> - Reeve</title>
			<link rel="stylesheet" href="/web/style.css"/>
		</head>
		<body>
			<a class="skip" href="#main">Skip to the content</a>
			<xsl:if test="@user"><xsl:call-template name="navigation"/></xsl:if>
			<main id="main">
				<h1><xsl:value-of select="$title"/></h1>
				<xsl:apply-templates select="error"/>
				<xsl:if test="not(error)"><xsl:call-template name="content"/></xsl:if>
			</main>
			<footer>
				<xsl:if test="@user and not(error)">
					<p>Data as of <time><xsl:value-of select="f:time(@now_ns)"/></time>
					(<xsl:value-of select="@time_zone"/>).
					<xsl:call-template name="downloads"/></p>
				</xsl:if>
			</footer>
		</body>
	</html>
</xsl:template>

<xsl:template name="content"/>

<xsl:template name="navigation">
	<header>
		<nav aria-label="Pages">
			<ul>
				<li class="brand">Reeve</li>
				<xsl:call-template name="tab"><xsl:with-param name="to">/web/</xsl:with-param><xsl:with-param name="text">Overview</xsl:with-param></xsl:call-template>
				<xsl:call-template name="tab"><xsl:with-param name="to">/web/usage</xsl:with-param><xsl:with-param name="text">Usage</xsl:with-param></xsl:call-template>
				<xsl:call-template name="tab"><xsl:with-param name="to">/web/jobs</xsl:with-param><xsl:with-param name="text">Jobs</xsl:with-param></xsl:call-template>
				<xsl:call-template name="tab"><xsl:with-param name="to">/web/queue</xsl:with-param><xsl:with-param name="text">Queue</xsl:with-param></xsl:call-template>
				<xsl:call-template name="tab"><xsl:with-param name="to">/web/share</xsl:with-param><xsl:with-param name="text">Shares</xsl:with-param></xsl:call-template>
				<xsl:call-template name="tab"><xsl:with-param name="to">/web/quota</xsl:with-param><xsl:with-param name="text">Quotas</xsl:with-param></xsl:call-template>
				<xsl:call-template name="tab"><xsl:with-param name="to">/web/cluster</xsl:with-param><xsl:with-param name="text">Cluster</xsl:with-param></xsl:call-template>
				<xsl:call-template name="tab"><xsl:with-param name="to">/web/nodes</xsl:with-param><xsl:with-param name="text">Nodes</xsl:with-param></xsl:call-template>
			</ul>
		</nav>
		<form method="post" action="/web/logout">
			<span class="who"><xsl:value-of select="@user"/><xsl:if test="@operator"> (operator)</xsl:if></span>
			<xsl:if test="not(@proxied)"><button type="submit">Leave</button></xsl:if>
		</form>
	</header>
</xsl:template>

<xsl:template name="tab">
	<xsl:param name="to"/>
	<xsl:param name="text"/>
	<li><a href="{$to}"><xsl:if test="$to = $here"><xsl:attribute name="aria-current">page</xsl:attribute></xsl:if><xsl:value-of select="$text"/></a></li>
</xsl:template>

<!-- The same figures for programs. -->
<xsl:template name="downloads">
	<xsl:if test="@path != '/web/'">
		<xsl:variable name="query"><xsl:if test="@query != ''">?<xsl:value-of select="@query"/></xsl:if></xsl:variable>
		The same as <a href="{@path}.csv{$query}">CSV</a>, <a href="{@path}.json{$query}">JSON</a>.
	</xsl:if>
</xsl:template>

<xsl:template match="error">
	<p class="error" role="alert"><strong>Not shown: </strong><xsl:value-of select="@message"/></p>
</xsl:template>

<!-- A bar beside the text of its figure; `part` may exceed `whole`. -->
<xsl:template name="bar">
	<xsl:param name="part"/>
	<xsl:param name="whole"/>
	<xsl:variable name="share">
		<xsl:choose>
			<xsl:when test="not($whole &gt; 0) or not($part &gt; 0)">0</xsl:when>
			<xsl:when test="$part &gt; $whole">100</xsl:when>
			<xsl:otherwise><xsl:value-of select="round(1000 * $part div $whole) div 10"/></xsl:otherwise>
		</xsl:choose>
	</xsl:variable>
	<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
		<rect class="whole" width="100" height="8"/>
		<rect class="part" width="{$share}" height="8">
			<xsl:if test="$whole &gt; 0 and $part &gt; $whole"><xsl:attribute name="class">part over</xsl:attribute></xsl:if>
		</rect>
	</svg>
</xsl:template>

<!-- A job's number as people name it, as a link. -->
<xsl:template name="job-link">
	<xsl:variable name="id"><xsl:choose>
		<xsl:when test="@id"><xsl:value-of select="@id"/></xsl:when>
		<xsl:otherwise><xsl:value-of select="@job"/></xsl:otherwise>
	</xsl:choose></xsl:variable>
	<xsl:choose>
		<xsl:when test="@slurm_job"><a href="/web/job/{@slurm_job}?cluster={f:encode(@cluster)}"><xsl:value-of select="$id"/></a></xsl:when>
		<xsl:otherwise><a href="/web/job/{translate($id, '[]', '.')}"><xsl:value-of select="$id"/></a></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- The head of a column whose rows are sorted by a link: by the attribute `by`, of the row or of an element in it. Rows are then
	sorted by two keys: as numbers, which texts are not, then as texts. -->
<xsl:variable name="sort" select="string(/page/asked/@sort)"/>
<xsl:variable name="order"><xsl:choose>
	<xsl:when test="/page/asked/@order = 'ascending'">ascending</xsl:when>
	<xsl:otherwise>descending</xsl:otherwise>
</xsl:choose></xsl:variable>
<xsl:template name="head">
	<xsl:param name="by"/>
	<xsl:param name="text"/>
	<xsl:param name="class"/>
	<xsl:variable name="other"><xsl:choose>
		<xsl:when test="$sort = $by and $order = 'descending'">ascending</xsl:when>
		<xsl:when test="$sort != $by and $class = ''">ascending</xsl:when>
		<xsl:otherwise>descending</xsl:otherwise>
	</xsl:choose></xsl:variable>
	<th scope="col">
		<xsl:if test="$class != ''"><xsl:attribute name="class"><xsl:value-of select="$class"/></xsl:attribute></xsl:if>
		<xsl:if test="$sort = $by"><xsl:attribute name="aria-sort"><xsl:value-of select="$order"/></xsl:attribute></xsl:if>
		<a>
			<xsl:attribute name="href">?<xsl:for-each select="/page/asked/@*[name() != 'sort' and name() != 'order']"><xsl:value-of select="concat(name(), '=', f:encode(.), '&amp;')"/></xsl:for-each>sort=<xsl:value-of select="$by"/>&amp;order=<xsl:value-of select="$other"/></xsl:attribute>
			<xsl:value-of select="$text"/>
		</a>
	</th>
</xsl:template>

<!-- The state, and how it ended where that was not well: in words, and in a colour besides. -->
<xsl:template name="state">
	<xsl:choose>
		<xsl:when test="end/@kind = 'limit'"><span class="state bad">killed: <xsl:value-of select="end/reason/@limit"/> limit</span></xsl:when>
		<xsl:when test="end/@kind = 'cancelled'"><span class="state ended">cancelled</span></xsl:when>
		<xsl:when test="end/@kind = 'signaled'"><span class="state bad">signal <xsl:value-of select="end/@signal"/></span></xsl:when>
		<xsl:when test="end/@kind = 'exited' and end/@exit_status &gt; 0"><span class="state bad">failed: exit <xsl:value-of select="end/@exit_status"/></span></xsl:when>
		<xsl:when test="end/@kind = 'exited'"><span class="state ended">completed</span></xsl:when>
		<xsl:when test="@state = 'ended' and end/@kind != ''"><span class="state bad"><xsl:value-of select="end/@kind"/></span></xsl:when>
		<xsl:otherwise><span class="state {@state}"><xsl:value-of select="@state"/></span></xsl:otherwise>
	</xsl:choose>
</xsl:template>
</xsl:stylesheet>
